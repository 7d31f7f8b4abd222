"""The normative page on artifacts: its example runs, and it names the formats that the code writes."""

from __future__ import annotations

import doctest
from pathlib import Path

from labelgrove.ontology.annotations import ANNOTATIONS_FORMAT
from labelgrove.ontology.labelgraph import FORMAT_TAG
from labelgrove.ontology.sql.catalog import INDEX_FORMAT
from labelgrove.ontology.store.safetensors_file import _DTYPES

PAGE = Path(__file__).parents[3] / "docs" / "artifact-format.md"


def test_the_example_runs() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 5
    assert found.failed == 0


def test_every_format_and_dtype_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for tag in (FORMAT_TAG, ANNOTATIONS_FORMAT, INDEX_FORMAT):
        assert f": `{tag}`" in text
    assert f"`{' '.join(_DTYPES)}`" in text
