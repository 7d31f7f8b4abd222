"""A reader that makes something else of a file raises the version of the readers."""

from __future__ import annotations

import json

import pytest

from labelgrove.ontology.readers import READER_VERSION
from tests.unit.readers import golden

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("readings")]  # one process makes them, once


@pytest.fixture(scope="module")
def now() -> dict[str, str]:
    return golden.readings()


def test_what_is_made_of_the_corpus_is_what_was_recorded_for_this_version(now):
    found = golden.recorded()
    other = golden.changed(now, found["readings"])
    assert not other, (
        f"the readers make something else of {other[:5]} than version {found['version']} did: raise "
        "READER_VERSION in ontology/readers/asking.py, then run python -m tests.unit.readers.golden"
    )
    assert found["version"] == READER_VERSION, "run python -m tests.unit.readers.golden"
    assert now.keys() == found["readings"].keys(), "run python -m tests.unit.readers.golden"


def test_another_result_is_not_recorded_under_the_same_version(now, tmp_path, monkeypatch):
    altered = {name: digest[::-1] for name, digest in now.items()}
    monkeypatch.setattr(golden, "FILE", tmp_path / "golden.json")
    monkeypatch.setattr(golden, "readings", lambda: now)
    golden.FILE.write_text(json.dumps({"version": READER_VERSION, "readings": altered}))
    with pytest.raises(SystemExit, match="raise READER_VERSION"):
        golden.main()
    monkeypatch.setattr(golden, "READER_VERSION", READER_VERSION + 1)
    golden.main()
    assert golden.recorded() == {"version": READER_VERSION + 1, "readings": dict(sorted(now.items()))}
