"""Model outputs and truths from files, and every file that is none."""

import io
import struct

import numpy as np
import pytest

from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.outputs.truthfile import read_truth
from labelgrove.ontology.errors import InputError, NotFoundError


def test_a_line_of_text_is_a_key_commas_included(tmp_path):
    path = tmp_path / "truth.txt"
    path.write_bytes(b"\xef\xbb\xbf0,0\r\n8,8\r\n\r\nsea lion \r\n")
    assert read_truth(path) == ["0,0", "8,8", "sea lion"]
    table = tmp_path / "truth.csv"
    table.write_text('"0,0",first\n8,second\n')
    assert read_truth(table) == ["0,0", "8"]


def test_truths_that_are_numbers_are_told_how_to_become_text(tmp_path):
    np.save(tmp_path / "truth.npy", np.arange(3))
    with pytest.raises(
        InputError, match=r"int64 of shape \(3,\).*\[classes\[i\] for i in truth\].*truth\.astype\(str\)"
    ):
        read_truth(tmp_path / "truth.npy")
    np.save(tmp_path / "truth.npy", np.arange(3).astype(str))
    assert read_truth(tmp_path / "truth.npy") == ["0", "1", "2"]


def test_outputs_come_with_the_names_of_their_columns(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('"0,0","8,8"\n0.25,0.75\n\n1,0\n')
    file = OutputFile(path)
    assert file.columns == ("0,0", "8,8")
    assert file.read().tolist() == [[0.25, 0.75], [1.0, 0.0]]


def _archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.zeros(2))
    return file.getvalue()


def _lying(
    header: bytes = b"{'descr': '<U10', 'fortran_order': False, 'shape': (1000000000000,), }",
) -> bytes:
    header += b" " * (-(11 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(400)


_ENDLESS = _lying(b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999999999), }")
_OPEN = _lying(b"(" * 2000)


@pytest.mark.parametrize("content", [_archive(), _lying(), _ENDLESS, _OPEN, b"", b"\x80\x04pickled"])
@pytest.mark.parametrize("reader", [OutputFile, read_truth])
def test_what_is_no_array_is_refused(reader, content, tmp_path):
    path = tmp_path / "p.npy"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"p\.npy"):
        reader(path)


@pytest.mark.parametrize("name", ["p.npy", "p.csv", "p.txt"])
def test_what_is_not_there_is_not_found(name, tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        read_truth(tmp_path / name)
