"""Large JSON documents of tensors give the numbers in them, and take little memory."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from labelgrove.service.scoring.tensors import DATATYPES, read_request

MOST = 50_000_000


def document(data, shape, *, datatype="FP64", **more):
    tensor = {"name": "logits", "datatype": datatype, "shape": shape, "data": data}
    return json.dumps({"inputs": [tensor], **more}).encode()


def read(body):
    return read_request(body, None, MOST)


@pytest.mark.parametrize("datatype", DATATYPES)
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("blank", ["", "\n  "])
def test_a_large_document_has_the_numbers_that_it_was_written_from(datatype, nested, blank):
    whole = np.random.default_rng(0).integers(0, 100, size=(30_000, 7))
    values = whole / 4 if datatype.startswith("FP") else whole
    body = document((values if nested else values.ravel()).tolist(), [30_000, 7], datatype=datatype, id="a")
    body = body.replace(b", ", b"," + blank.encode()).replace(b"]", blank.encode() + b"]")
    found = read(body)
    assert (found.id, found.parameters, found.wanted) == ("a", {}, [])
    assert found.tensors[0].values.dtype == np.dtype(DATATYPES[datatype])
    assert (found.tensors[0].values == values).all()


PEAK = """
import pathlib, sys, time
from labelgrove.service.problems import Problem
from labelgrove.service.scoring.tensors import read_request
def most():
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
n = 8_000_000
start = b'{"inputs": [{"name": "a", "datatype": "FP64", "shape": [%d, 1], "data": [' % n
body = {
    "numbers": start + b"1," * (n - 1) + b"1]}]}",
    "lists": start + b"[]," * n + b"[]]}]}",
    "objects": start + b"{}," * n + b"{}]}]}",
    "tensors": b'{"inputs": [' + b"{}," * n + b"{}]}",
    "outputs": b'{"outputs": [' + b'{"name":""},' * (n // 4) + b'{}], "inputs": [{}]}',
    "entries": b'{"inputs": [{' + b",".join(b'"%x":0' % i for i in range(n // 4)) + b"}]}",
    "candidates": b'{"inputs": [], "parameters": {"candidates": [' + b"[]," * n + b"[]]}}",
}[sys.argv[1]]
before = most()
try:
    read_request(body, None, 50_000_000)
except Problem:
    pass
print(most() - before, len(body))
"""


@pytest.mark.parametrize(
    "what", ["numbers", "lists", "objects", "tensors", "outputs", "entries", "candidates"]
)
def test_a_large_document_takes_little_more_memory_than_it_is_long(what):
    done = subprocess.run([sys.executable, "-c", PEAK, what], capture_output=True, text=True, check=True)
    peak, size = map(int, done.stdout.split())
    assert peak < (8 if what == "numbers" else 4) * size
