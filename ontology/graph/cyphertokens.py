"""Split a Cypher text into tokens, so that words in strings and comments are not taken for keywords.

Both engines follow the same rules. A string ends at the next unescaped quote of the kind that opened it. A
name in backticks ends at a backtick that is not doubled. A line comment ends at a line feed or a carriage
return. Block comments do not nest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Token", "parameters", "statements", "tokenize"]

_PATTERN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<line_comment>//[^\n\r]*)
    | (?P<comment>/\*.*?\*/)
    | (?P<open_comment>/\*.*)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<open_single>'.*)
    | (?P<open_double>".*)
    | (?P<parameter>\$(?:\w+|`(?:[^`]|``)*`))
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<open_backtick>`.*)
    | (?P<number>(?:\d+(?:\.(?=\d)\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<symbol>\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = {"space", "line_comment", "comment"}


@dataclass(frozen=True)
class Token:
    """One token of a Cypher text.

    Attributes
    ----------
    kind : str
        ``word``, ``quoted`` (a name in backticks), ``string``, ``number``, ``parameter``, ``symbol``; or, for
        a token without an end, ``open_single``, ``open_double``, ``open_backtick``, ``open_comment``.
    text : str
        The token as written.
    start : int
        Position of its first character in the Cypher text, from 0.
    """

    kind: str
    text: str
    start: int


def tokenize(cypher: str) -> Iterator[Token]:
    """Yield the tokens of `cypher` without blanks and comments; never fails.

    >>> [(t.kind, t.text) for t in tokenize("RETURN 'a;b' AS `x` // done")]
    [('word', 'RETURN'), ('string', "'a;b'"), ('word', 'AS'), ('quoted', '`x`')]
    """
    for match in _PATTERN.finditer(cypher):
        kind = match.lastgroup or "symbol"
        if kind not in _BLANK:
            yield Token(kind, match.group(), match.start())


def parameters(cypher: str) -> frozenset[str]:
    """Return the names of the parameters that `cypher` uses.

    >>> sorted(parameters("MATCH (l {key: $key}) WHERE l.name <> '$no' RETURN $`a b`"))
    ['a b', 'key']
    """
    names = (t.text[1:] for t in tokenize(cypher) if t.kind == "parameter")
    return frozenset(n[1:-1].replace("``", "`") if n.startswith("`") else n for n in names)


def statements(cypher: str) -> list[str]:
    """Split a Cypher text at its semicolons into statements; leave out parts that contain only comments."""
    found, begin, filled = [], 0, False
    for token in tokenize(cypher):
        if token.text == ";":
            if filled:
                found.append(cypher[begin : token.start].strip())
            begin, filled = token.start + 1, False
        else:
            filled = True
    if filled:
        found.append(cypher[begin:].strip())
    return found
