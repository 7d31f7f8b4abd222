"""Print text for people and programs on stdout and stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import click

__all__ = [
    "emit",
    "escaped",
    "first_digits",
    "in_options",
    "json_option",
    "json_text",
    "note",
    "say",
    "share",
    "to_the_minute",
]

_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line end, and characters that change the direction of text."""

_IN_PYTHON = re.compile(r"(?:\w+=\S+ )+\(grove: (--[^()]+)\)")
"""Advice in error messages of the library: a Python argument, and the option of `grove` for it."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text; on a terminal, with escapes such as ``\\x1b`` in place of characters that control it."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = escaped(text)
    click.echo(text, err=err, nl=nl, color=True)  # otherwise click removes color codes for programs


def emit(document: Any, as_json: bool, text: str | Callable[[], str]) -> None:
    """Print `document` as JSON if `as_json` is set, else `text` for people."""
    if as_json:
        say(json_text(document))
    else:
        say(text() if callable(text) else text)


def json_text(document: Any) -> str:
    """Return `document` as JSON, indented."""
    return json.dumps(document, ensure_ascii=False, indent=2, default=str)


def note(message: str) -> None:
    """Print a line for people on stderr."""
    say(message, err=True)


def in_options(message: str) -> str:
    """Return a message of the library with options of `grove` in place of Python arguments.

    The library writes the option in parentheses after the argument.

    >>> in_options("for logits say outputs='logits' (grove: --outputs logits); see below")
    'for logits say --outputs logits; see below'
    """
    return _IN_PYTHON.sub(r"\1", message)


def first_digits(digest: str) -> str:
    """Return the 12 digits of a digest that are enough to name a version or a bundle in a command."""
    return digest[:12]


def to_the_minute(time: str) -> str:
    """Return a time as `when` writes it, without the seconds.

    >>> to_the_minute("1970-01-01T00:00:59Z")
    '1970-01-01T00:00Z'
    """
    return f"{time[:-4]}Z" if time else time


def escaped(text: str) -> str:
    """Return `text` with an escape, such as ``\\x1b``, in place of each character that controls terminals."""
    return _COMMANDING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def share(part: int, whole: int, said: str = "") -> str:
    """Return `part` of `whole` labels as text, with the share in percent; `said` says what they are.

    >>> share(1234, 82115)
    '1,234 of 82,115 labels (1.50 %)'
    >>> share(2961, 4017, "are a cover")
    '2,961 of 4,017 labels are a cover (73.71 %)'
    """
    return f"{part:,} of {whole:,} labels{said and f' {said}'} ({100 * part / whole:.2f} %)"
