"""The fuzzer: readers survive some mutants of every sound file, and each kind of failure is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers import formats
from tests.fuzz.mutations import mutant
from tests.fuzz.pool import Limits, case, fuzz
from tests.fuzz.sources import Source, sources
from tests.unit.readers.reader_corpus import SOUND

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does"),
]

LIMITS = Limits(seconds=1, memory=256 << 20, waiting=60)
HELD = [Source("one", "a.txt", b"parent,child\na,b\n", "edges")]


def test_some_mutants_of_every_sound_file_are_survived():
    held = [source for source in sources() if not source.title.startswith("real ")]
    outcome = fuzz(held, range(300), seed=0)
    assert [failure.what for failure in outcome.failures] == []
    assert outcome.n_mutants == 300
    assert set(outcome.titles) == {source.title for source in held}
    assert outcome.kinds["graph"] > 30
    assert outcome.kinds["reported"] > 30


def test_every_format_has_a_sound_file():
    assert {source.format for source in sources() if source.format} == {f.name for f in formats()}
    assert set(SOUND) == {f.name for f in formats()}


def test_equal_seeds_give_equal_mutants_and_others_differ():
    held = sources()
    first = [case(held, 7, number) for number in range(60)]
    assert first == [case(held, 7, number) for number in range(60)]
    assert first != [case(held, 8, number) for number in range(60)]
    assert sum(content != source.content for source, content, _ in first) > 40
    assert mutant(b"", [b""], "empty") is not None


def fails_on_the_third(path: Path, options: dict[str, Any]) -> str:
    if path.read_bytes() == case(HELD, 0, 2)[1]:
        raise KeyError("third")
    return "graph"


def hangs(path: Path, options: dict[str, Any]) -> str:
    while True:
        pass


def waits(path: Path, options: dict[str, Any]) -> str:
    time.sleep(60)
    return "graph"


def eats(path: Path, options: dict[str, Any]) -> str:
    return f"graph of {len(bytearray(512 << 20))}"


def dies(path: Path, options: dict[str, Any]) -> str:
    os._exit(7)


def refuses(path: Path, options: dict[str, Any]) -> str:
    raise InputError("a reader answers this itself")


@pytest.mark.parametrize(
    ("reader", "numbers", "says"),
    [
        (fails_on_the_third, range(5), "KeyError: 'third'"),
        (hangs, range(1), "hang: the reader's process ended by SIGPROF"),
        (eats, range(1), "MemoryError"),
        (dies, range(1), "death: the reader's process ended by exit 7"),
        (refuses, range(1), "InputError"),
    ],
)
def test_a_failure_is_noticed_and_the_others_are_read_nevertheless(reader, numbers, says):
    outcome = fuzz(HELD, numbers, seed=0, jobs=1, limits=LIMITS, reader=reader)
    assert outcome.n_mutants == len(numbers)
    (failure,) = outcome.failures
    assert says in failure.what
    assert failure.number == (2 if reader is fails_on_the_third else 0)


def test_a_reader_that_waits_is_ended(monkeypatch):
    outcome = fuzz(HELD, range(1), seed=0, jobs=1, limits=Limits(waiting=5), reader=waits)
    assert "hang: no answer after" in outcome.failures[0].what


def test_the_command_reads_one_mutant_again_by_its_number(tmp_path):
    command = [sys.executable, "-m", "tests.fuzz", "--seed", "3", "--only", "5", "--source", "corpus"]
    done = subprocess.run(
        [*command, "--keep", str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.startswith("1 mutant of")
    assert "failures: 0" in done.stdout
