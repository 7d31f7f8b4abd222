"""Recognize YAML, which may look much like an outline or an edge list."""

from __future__ import annotations

import re

__all__ = ["looks_like_yaml"]

_LINE = re.compile(
    r"""(?P<indent>\ *)(?P<bullets>(?:-\ +)*)
    (?:(?P<key>"[^"]*"|'[^']*'|[^\s"'\#{}\[\],-][^\#]*?|-?\w[^\#]*?)\ ?:(?:\s+(?P<value>\S.*)|\s*)
    |(?P<rest>-|.*))""",
    re.VERBOSE,
)
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(#.*)?")
_ODD = 0.1
_TABLE = re.compile(r"[\t,;]")


def looks_like_yaml(lines: list[str]) -> bool:
    r"""Return whether the lines look like mappings and lists in YAML.

    Lines of YAML have the form ``key:``, ``key: value`` or ``- item``, and at least one has a key. Lines that
    are indented more deeply may follow only a line that ends in a colon, has an anchor or tag after its
    colon, or is a single dash. This distinguishes YAML from an outline, in which any label may have lines
    below it. Up to a tenth of the lines may break these rules, because values can continue on further lines.
    If the first line is ``---`` or begins with ``%YAML``, the text counts as YAML.

    >>> looks_like_yaml(["a: 1", "b:", "  - c"]), looks_like_yaml(["Genus: Canis", "  Species: lupus"])
    (True, False)
    """
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if lines and (lines[0].startswith("%YAML") or lines[0].rstrip() == "---"):
        return True
    widths = {len(_TABLE.split(line)) for line in lines}
    if len(widths) == 1 and widths != {1} and not any(line[0] in " -" for line in lines):
        return False  # columns
    n_members = n_odd = 0
    open_at, may_nest = -1, True  # the column of the last entry, and whether lines may follow below it
    block = None  # the indentation of the entry that a block of text belongs to
    for line in lines:
        match = _LINE.fullmatch(line)
        indent = len(match["indent"]) if match else 0
        if line.rstrip() in ("---", "...") or (block is not None and indent > block):
            continue
        bullets = len(match["bullets"]) if match else 0
        is_nested = indent > open_at or (bullets > 0 and indent == open_at)
        if (
            match is None
            or (is_nested and not may_nest)
            or not (match["key"] or bullets or match["rest"] == "-")
        ):
            n_odd += 1
            continue
        value = match["value"] or ""
        n_members += match["key"] is not None
        may_nest = (match["key"] is not None and not value) or match["rest"] == "-" or value[:1] in ("&", "!")
        open_at = indent + bullets
        block = indent if _BLOCK.fullmatch(value or (match["rest"] or "")) else None
    return n_members > 0 and n_odd <= len(lines) * _ODD
