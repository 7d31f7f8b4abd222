"""What the readers make of every case of the corpus, as digests beside the version of the readers.

``python -m tests.unit.readers.golden`` records new cases. It refuses to record another result of a case that
stands there already unless `ontology.readers.READER_VERSION` was raised: what users read before would be
taken for what the readers make of it now.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.readers import READER_VERSION, read
from tests.unit.readers.reader_corpus import CASES, LABELS, SOUND, Case

FILE = Path(__file__).with_name("golden_readings.json")

_POLICIES: tuple[dict[str, str], ...] = (
    {},
    {"all": "fix", "roots": "keep"},
    {"all": "warn", "roots": "largest"},
)

_WORDED_ELSEWHERE = (
    "gzip-damaged",
    "gzip-truncated",
    "json-syntax",
    "parquet-bomb",
    "parquet-damaged",
    "rdf-document",
    "rdf-statement",
    "xml-syntax",
)
"""Defects whose text is that of another library, which changes from version to version."""


def cases() -> list[Case]:
    """Every malformed source and every sound one."""
    sound = [
        Case(name, "sound", 0, text, labels=LABELS if name == "lshtc" else None)
        for name, text in SOUND.items()
    ]
    return sound + CASES


def readings() -> dict[str, str]:
    """Return the digest of what is made of each case, by its id."""
    return {case.id: _digest(case) for case in cases()}


def _digest(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / case.name
        source.write_bytes(case.content)
        for name, content in case.beside.items():
            source.with_name(name).write_bytes(content)
        options: dict[str, Any] = {"format": case.format, **case.options}
        if case.labels is not None:
            options["labels"] = Path(folder) / "train.csv"
            options["labels"].write_bytes(case.labels)
        own = options.pop("policies", {})
        made = [_made(source, {**options, "policies": policies | own}) for policies in _POLICIES]
        text = json.dumps(made, sort_keys=True).replace(json.dumps(folder)[1:-1], "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _made(source: Path, options: dict[str, Any]) -> Any:
    try:
        result = read(source, strict=False, **options)
    except GroveError as error:
        return type(error).__name__
    report = result.report.to_dict()
    for defect in report["defects"]:
        if defect["code"] in _WORDED_ELSEWHERE:
            defect["examples"] = len(defect["examples"])
    graph = None if result.graph is None else result.graph.digest
    held = {} if result.graph is None else dict(result.annotations.descriptions(result.graph))
    annotations = {key: asdict(description) for key, description in held.items()}
    return [graph, annotations, result.classes, report]


def recorded() -> dict[str, Any]:
    """Return what the file holds."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def changed(now: dict[str, str], before: dict[str, str]) -> list[str]:
    """Return the cases of which something else is made now."""
    return sorted(name for name in now.keys() & before.keys() if now[name] != before[name])


def main() -> None:
    """Record what is made now."""
    now, before = readings(), recorded() if FILE.exists() else {"version": 0, "readings": {}}
    other = changed(now, before["readings"])
    if other and before["version"] >= READER_VERSION:
        sys.exit(
            f"the readers make something else of {other[:5]}: raise READER_VERSION in "
            "ontology/readers/asking.py"
        )
    document = {"version": READER_VERSION, "readings": dict(sorted(now.items()))}
    FILE.write_text(json.dumps(document, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
