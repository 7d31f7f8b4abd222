"""Log the work of a worker as text or as one JSON object per line; lines name the unit, and hide passwords.

Inside an `about` block, every record gets the fields given to `about`, whichever library logs it. Every line
is masked after it is formatted, so that neither an argument nor a traceback can show a secret.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelgrove.ontology.settings import masked

__all__ = ["FIELDS", "about", "configure_logging"]

FIELDS = (
    *("unit", "jobs", "kind", "attempt", "outcome", "seconds"),
    *("actor", "scope", "route", "ontology", "job", "status"),
)
"""Fields that a record may carry next to its message, as attributes or from `about`."""

_about: ContextVar[dict[str, Any] | None] = ContextVar("about", default=None)


@contextlib.contextmanager
def about(**fields: Any) -> Iterator[None]:
    """Add `fields` to every log record that this thread makes inside the `with` block.

    The names of the fields are in `FIELDS`.
    """
    token = _about.set({**(_about.get() or {}), **fields})
    try:
        yield
    finally:
        _about.reset(token)


def configure_logging(log_format: str, *, level: int | str = "INFO", file: str | Path | None = None) -> None:
    """Write every log record of this process to stderr, or to `file`.

    Parameters
    ----------
    log_format : str
        ``text`` or ``json``, as in `ontology.settings.Settings.log_format`.
    level : int or str
        Records below this level are left out.
    file : path, optional
        File to append to, in place of stderr.
    """
    handler = logging.StreamHandler(sys.stderr) if file is None else logging.FileHandler(file)
    handler.setFormatter(_JsonLines() if log_format == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        message = record.getMessage()
        fields = {name: value for name, value in _fields(record).items() if str(value) not in message}
        shown = "".join(f" {name}={_short(value)}" for name, value in fields.items())
        line = f"{time}Z {record.levelname} {_HOST}/{record.process} {record.name}: {message}{shown}"
        return masked("\n".join([line, *_trace(self, record)]))


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": masked(record.getMessage()),
            "host": _HOST,
            "pid": record.process,
            **_fields(record),
        }
        if trace := _trace(self, record):
            document["traceback"] = masked("\n".join(trace))
        return json.dumps(document, default=lambda value: masked(str(value)))


_HOST = socket.gethostname()


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of the record itself, and those from `about`."""
    found = dict(_about.get() or {})
    found.update({name: getattr(record, name) for name in FIELDS if hasattr(record, name)})
    return {name: found[name] for name in FIELDS if name in found}


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return ",".join(value) if isinstance(value, (list, tuple)) else str(value)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    parts = []
    if record.exc_info and record.exc_info[0] is not None:
        parts.append(formatter.formatException(record.exc_info))
    if record.stack_info:
        parts.append(record.stack_info)
    return parts
