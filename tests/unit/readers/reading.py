"""Read a text that a test writes, and look at the graph that it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgrove.ontology.readers import ReadResult, read


def read_text(folder: Path, text: str | bytes, name: str = "source.txt", **options: Any) -> ReadResult:
    source = folder / name
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(source, **options)


def pairs(result: ReadResult) -> set[tuple[str, str]]:
    return {(child, parent) for child, parent, _, _ in result.graph.edges()}


def names(result: ReadResult) -> dict[str, str]:
    return dict(zip(result.graph.keys, result.graph.names, strict=True))


def codes(result: ReadResult) -> set[str]:
    return {defect.code for defect in result.report.defects}
