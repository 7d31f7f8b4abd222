"""Figures of fault tests, kept for `docs/reliability.md` if `GROVE_TEST_FAULTS_MEASURED=1` is set."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "documents", "keep"]

FOLDER = Path(__file__).with_name("measured")


def keep(test: str, run: str, figures: Mapping[str, Any]) -> None:
    """Keep the figures of one run of a fault test, in place of those of its last such run.

    Parameters
    ----------
    test : str
        The number of the fault test, such as ``F1``, which names the file.
    run : str
        A description of the run, such as ``200 faults, PostgreSQL``; it is a row of the table.
    figures : mapping
        ``seed``, ``seconds`` and, if they apply, ``units``, ``claims``, ``orphans``, ``drain_s`` and
        ``note``.
    """
    if os.environ.get("GROVE_TEST_FAULTS_MEASURED") != "1":
        return
    FOLDER.mkdir(exist_ok=True)
    runs = documents().get(test, {})
    runs[run] = {"date": str(datetime.now(UTC).date()), **figures}
    (FOLDER / f"{test}.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


def documents() -> dict[str, dict[str, dict[str, Any]]]:
    """Return all kept figures, by test and by run."""
    paths = sorted(FOLDER.glob("*.json"), key=lambda path: (len(path.stem), path.stem))  # F9 before F11
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
