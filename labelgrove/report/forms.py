"""Write reports as HTML, Markdown or JSON; the ending of the file name decides which."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from labelgrove.ontology.errors import InputError
from labelgrove.report.content import Report
from labelgrove.report.html import to_html
from labelgrove.report.markdown import to_markdown

__all__ = ["as_bytes", "check_ending", "to_json", "versions"]


def to_json(report: Report) -> str:
    """Return the figures of a report and their origin as one JSON document."""
    return json.dumps(report.document, indent=2, ensure_ascii=False) + "\n"


_FORMS: Mapping[str, Callable[[Report], str]] = {".html": to_html, ".md": to_markdown, ".json": to_json}


def check_ending(path: Path) -> None:
    """Raise `InputError` unless the file name ends in .html, .md or .json."""
    if path.suffix not in _FORMS:
        raise InputError(f"{path}: its ending does not name a format; end the name in {', '.join(_FORMS)}")


def as_bytes(report: Report, path: Path) -> bytes:
    """Return the bytes of a report in the format that the ending of `path` names.

    Raises
    ------
    InputError
        If the ending is not .html, .md or .json.
    """
    check_ending(path)
    return _FORMS[path.suffix](report).encode()


def versions(names: Iterable[str] = ("labelgrove", "numpy")) -> dict[str, str]:
    """Return a dictionary from the names of packages to their versions; ``python`` has that of Python."""
    return {name: version(name) for name in names} | {"python": platform.python_version()}
