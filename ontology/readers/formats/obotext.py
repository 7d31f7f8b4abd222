r"""Take apart the values of OBO clauses: escapes, comments, trailing modifiers, texts in quotes.

A value is what stands after ``tag:`` in a line. An unescaped ``!`` starts a comment, which ends with the
line. Before it may stand modifiers, ``{name="value", ...}``. A backslash takes the meaning from the character
after it; ``\n``, ``\t`` and ``\W`` stand for a line end, a tab and a blank.
"""

from __future__ import annotations

import re

__all__ = ["first_word", "is_string", "quoted", "stripped", "unescaped"]

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "W": " "}
_MARK = re.compile(r"\\.|[!{]", re.DOTALL)
_STRING = r'"(?:[^"\\]|\\.)*+"'
_MODIFIER = rf'[^\s={{}}",!]++\s*+=\s*+(?:{_STRING}|[^\s,"{{}}]++)'
_MODIFIERS = re.compile(rf"\{{\s*+(?:{_MODIFIER}(?:\s*+,\s*+{_MODIFIER})*+\s*+)?+\}}\s*+(?:!.*)?", re.DOTALL)
_QUOTED = re.compile(_STRING)
_REFERENCES = re.compile(rf'\s*+\[(?:[^\]"\\]|\\.|{_STRING})*+\]', re.DOTALL)
_BLANK = re.compile(r"(?<!\\)\s+")


def unescaped(text: str) -> str:
    r"""Return a text without its escapes.

    >>> unescaped(r"a \"b\"\: c\Wd")
    'a "b": c d'
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _MEANT.get(found[1], found[1]), text)


def stripped(value: str, *, after_blank: bool = False) -> tuple[str, str]:
    r"""Return a value without its comment and modifiers, still escaped.

    Parameters
    ----------
    value : str
    after_blank : bool
        Whether a comment only starts after a blank; in names, people forget to escape ``!``.

    Returns
    -------
    text : str
        Without surrounding blanks.
    marks : str
        The first unescaped ``{`` in the text, if any: it does not begin modifiers. Then, if any, an unescaped
        ``!`` in the text.

    Examples
    --------
    >>> stripped(r'HP:1 {source="a ! b"} ! Abnormal {x}')
    ('HP:1', '')
    >>> stripped(r"wow\! {x ! rest"), stripped("a!b ! c", after_blank=True)
    (('wow\\! {x', '{'), ('a!b', '!'))
    """
    if "!" not in value and "{" not in value:
        return value.strip(), ""
    marks = ""
    for mark in _MARK.finditer(value):
        begin = mark.start()
        if mark[0] == "!":
            if not after_blank or not begin or value[begin - 1].isspace():
                return value[:begin].strip(), marks
            marks = marks.rstrip("!") + "!"
        # Only the first brace is tried: to try each would take quadratic time.
        elif mark[0] == "{" and "{" not in marks:
            if _MODIFIERS.fullmatch(value, begin):
                return value[:begin].strip(), marks
            marks = "{" + marks
    return value.strip(), marks


def first_word(text: str) -> tuple[str, str]:
    r"""Return the text up to its first unescaped blank, without escapes, and the rest.

    >>> first_word(r"part_of MS:1 x"), first_word(r"a\ b")
    (('part_of', 'MS:1 x'), ('a b', ''))
    """
    if " " not in text and "\t" not in text:
        return unescaped(text), ""
    first, *rest = _BLANK.split(text, maxsplit=1)
    return unescaped(first), rest[0] if rest else ""


def is_string(text: str) -> bool:
    r"""Return whether a text is one string in quotes.

    >>> is_string(r'"a \"b\""'), is_string('"a" b')
    (True, False)
    """
    return _QUOTED.fullmatch(text) is not None


def quoted(value: str) -> tuple[str, str, str | None] | None:
    r"""Take apart ``"text" words [cross-references] {modifiers} ! comment``.

    Returns
    -------
    text, words : str
        The text without quotes and escapes, and what stands between it and the cross-references.
    defect : str or None
        What is wrong after the text: ``"obo-references"`` if the cross-references are missing or not closed,
        or ``"obo-modifiers"`` if something else follows them.
    None
        If the value does not start with a text in quotes, or if another quote follows it before the
        cross-references.

    Examples
    --------
    >>> quoted(r'"a \"b\"" EXACT layperson [PMID:1 "on ] b"] ! c')
    ('a "b"', 'EXACT layperson', None)
    >>> quoted('"a" EXACT'), quoted('"a "b" c" []')
    (('a', 'EXACT', 'obo-references'), None)
    """
    text = _QUOTED.match(value)
    if text is None:
        return None
    said = unescaped(text[0][1:-1])
    after = value[text.end() :]
    start = after.find("[")
    found = _REFERENCES.match(after, start) if start >= 0 else None
    words, _ = stripped(after[:start] if start >= 0 else after)
    if '"' in words:
        return None
    if found is None:
        return said, words, "obo-references"
    left, _ = stripped(after[found.end() :])
    return said, words, "obo-modifiers" if left else None
