"""Pages that join all results in a folder: the verdicts and their figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.report.experiment import experiment_report, overview_report
from labelgrove.report.html import to_html
from labelgrove.report.markdown import to_markdown

__all__ = ["pages", "read_result", "seconds_of"]


def pages(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the pages for all results in a folder, by file name.

    Parameters
    ----------
    folder : Path
        Output folder of ``grove experiment``.
    names : sequence of str
        Experiments in the order of the page; those without a result are left out.

    Returns
    -------
    pages : dict
        ``results.html`` links to the page of each experiment; ``results.md`` contains all of them, without
        the sections that are folded there.

    Raises
    ------
    NotFoundError
        For a folder without any result.
    InputError
        For a result file that cannot be read.
    """
    held = [name for name in names if (folder / name / "result.json").is_file()]
    if not held:
        raise NotFoundError(f"{folder}: holds no result; run: grove experiment all --out {folder}")
    documents = [read_result(folder / name / "result.json") for name in held]
    seconds = [seconds_of(folder / name) for name in held]
    linked = overview_report(documents, seconds, lambda d: f"{d['experiment']}/result.html")
    anchored = overview_report(documents, seconds, lambda d: f"#{_anchor(d)}")
    parts = [to_markdown(experiment_report(d), level=2, brief=True) for d in documents]
    return {"results.html": to_html(linked), "results.md": "\n".join([to_markdown(anchored), *parts])}


def read_result(path: Path) -> dict[str, Any]:
    """Return the contents of a ``result.json``."""
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not a result of an experiment ({error}); run it again") from error
    return document


def seconds_of(home: Path) -> float:
    """Return the seconds that the units of the result in `home` took."""
    identity = read_result(home / "result.json")["identity"]
    units = (home / "units" / identity[:16]).glob("*.json")
    return round(sum(float(json.loads(path.read_bytes())["seconds"]) for path in units), 1)


def _anchor(document: Mapping[str, Any]) -> str:
    return f"{document['experiment']}-{document['verdict'].replace(' ', '-')}"
