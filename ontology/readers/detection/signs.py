"""Test the start of a file for signs of its kind: bytes, the beginning of its text, the form of its lines.

A function that takes a `Head`, the start of a file, is a test. Every other function takes what to search for,
and returns a test. The cells of a line are its parts between tabs, commas and semicolons.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from labelgrove.ontology.readers.text.head import Head

__all__ = [
    "Sign",
    "all_of",
    "first_record",
    "has_blocks",
    "has_headings",
    "is_binary",
    "is_marked_up",
    "is_newick",
    "is_pickle",
    "is_prose",
    "is_python",
    "is_statements",
    "most_lines",
    "some_lines",
    "starts_with",
    "text_starts",
    "utf16",
    "xml",
]

Sign = Callable[[Head], bool]
"""A test: takes the start of a file, and returns whether it shows the sign."""

_PUNCTUATED = re.compile(r"[({;\\]$|[=!<>]=|\w\([^)]*\)?[;:,]?$|^\s*[\w.\[\]]+\s*[-+*/:]?=\s*\S")
_WORDED = re.compile(
    r"\s*(return|import|from|def|class|if|elif|else|for|while|end|endif|const|var|let|function|subroutine"
    r"|module|use|implicit|integer|real|cdef|cimport|ctypedef|static|void|int|struct)\b"
)
_MARKDOWN = re.compile(r"```|~~~|\s*\|?(\s*:?-{3,}:?\s*\|)+|\s*[-*]? *\[[^\]]+\]\([^)\s]+\)\s*$")


def starts_with(magic: bytes, at: int = 0, beside: bytes = b"") -> Sign:
    """Test for the bytes `magic` at position `at`, and the bytes `beside` anywhere in the file's start."""
    return lambda head: head.start.startswith(magic, at) and beside in head.start


def text_starts(pattern: str) -> Sign:
    """Test whether the text, without the blanks at its start, begins with a pattern; ignore letter case."""
    expression = re.compile(pattern, re.IGNORECASE)
    return lambda head: expression.match(head.text.lstrip()) is not None


def first_record(pattern: str) -> Sign:
    """Test whether the first line that is not a comment begins with a pattern; case does not matter."""
    expression = re.compile(pattern, re.IGNORECASE)
    return lambda head: bool(head.records) and expression.match(head.records[0].lstrip()) is not None


def some_lines(pattern: str, least: int = 1) -> Sign:
    """Test whether at least `least` lines, comments included, begin with a pattern."""
    expression = re.compile(pattern)
    return lambda head: sum(expression.match(line) is not None for line in head.lines) >= least


def most_lines(pattern: str, share: float = 0.8, least: int = 2) -> Sign:
    """Test whether a pattern occurs in at least `least` lines, and in at least the fraction `share` of lines.

    Comments are left out.
    """
    expression = re.compile(pattern)

    def fits(head: Head) -> bool:
        n, misses = len(head.records), 0
        for line in head.records:
            misses += expression.search(line) is None
            if misses > (1 - share) * n:
                return False
        return n - misses >= least

    return fits


def all_of(*tests: Sign) -> Sign:
    """Test whether a file passes all the given tests."""
    return lambda head: all(test(head) for test in tests)


def xml(root: str = "") -> Sign:
    """Test for XML or HTML whose first element has a name that matches `root`; ``""`` matches any name."""
    wanted = re.compile(rf"({root})\Z" if root else "", re.IGNORECASE)

    def fits(head: Head) -> bool:
        name = _root_element(head.text)
        return name is not None and wanted.match(name) is not None

    return fits


def _root_element(text: str) -> str | None:
    """Return the name of the first element; None if the text is neither XML nor HTML.

    The name is empty if the start of the file ends before the first element.
    """
    if not re.match(r"\s*<(\?xml|!doctype|!--|[a-z_][\w.:-]*(\s[^<>]*)?/?>)", text, re.IGNORECASE):
        return None
    if not re.search(r"<\?xml|<!doctype|<html\b|\sxmlns|</|/>", text, re.IGNORECASE):
        return None  # keys in angle brackets
    at = 0
    while found := re.compile(r"\s*<(\?|!--|!)").match(text, at):  # what comes before the first element
        closing = {"?": "?>", "!--": "-->", "!": ">"}[found[1]]
        end = text.find(closing, found.end())
        if found[1] == "!" and text.find("[", found.end(), max(end, 0)) > -1:
            end = text.find("]>", found.end())
        if end < 0:
            return ""
        at = end + len(closing)
    element = re.compile(r"[\s\]>]*<([a-z_][\w.:-]*)", re.IGNORECASE).match(text, at)
    return element[1] if element else ""


def utf16(odd: int) -> Sign:
    """Test for UTF-16 text without a byte order mark.

    If `odd` is 1, most of the NULs must be at odd positions, counted from 0. If `odd` is 0, most must be at
    even positions. More than a quarter of all bytes must be NULs at these positions, and fewer than a
    fortieth may be NULs at the other positions. A file of fewer than four bytes does not pass.
    """

    def fits(head: Head) -> bool:
        nuls, others = head.start[odd::2].count(0), head.start[1 - odd :: 2].count(0)
        return len(head.start) >= 4 and nuls > len(head.start) / 4 > 10 * others

    return fits


def is_pickle(head: Head) -> bool:
    """Return whether the file starts like a pickle of protocol 2 or later."""
    return head.start.startswith(b"\x80") and head.start[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}


def is_binary(head: Head) -> bool:
    """Return whether more than a fifth of the bytes are control characters.

    If the text is not UTF-8, more than a fiftieth is enough.
    """
    n_controls = sum(head.start.count(code) for code in (*range(9), *range(14, 27), *range(28, 32)))
    n_damaged = head.text.count("\ufffd") - head.start.count("\ufffd".encode())
    return n_controls > len(head.start) / (50 if n_damaged > len(head.start) / 50 else 5)


def is_newick(head: Head) -> bool:
    """Return whether the text may be a Newick tree: a list in parentheses, closed by a semicolon."""
    text = re.sub(r"^\s*\[[^\]]*\]", "", head.text).strip()
    ends = text.endswith(";") if head.whole else text.count("(") > 2
    return text.startswith("(") and "," in text and ")" in text and ends


def is_marked_up(head: Head) -> bool:
    """Return whether the text has a sign of Markdown.

    Any one of three signs is enough: fenced code, a line of dashes and ``|`` as in a table, or a line that is
    only a link.
    """
    return any(map(_MARKDOWN.match, head.lines))


def has_headings(head: Head) -> bool:
    """Return whether the text has `#` headings of at least two levels, or underlined headings.

    A line of four or more ``=`` always counts as the underline of a heading. Lines that start with `#` may
    also be comments. They are taken for comments in three cases:

    * all other lines have the same number of cells (two or more);
    * each of the other lines has two words, and none has a bullet;
    * some other lines are indented, and none has a bullet.
    """
    bulleted = any(line.lstrip()[:2] in ("- ", "* ") for line in head.records)
    in_pairs = not bulleted and all(len(line.split()) == 2 for line in head.records)
    indented = not bulleted and any(line[0] in " \t" for line in head.records)
    if any(re.match(r"={4,}\s*$", line) for line in head.lines):
        return True
    levels = {len(found[1]) for line in head.lines if (found := re.match(r"(#{1,6}) \S", line))}
    return len(levels) > 1 and not (_in_columns(head) or (head.records and in_pairs) or indented)


def is_statements(head: Head) -> bool:
    """Return whether at least half of the lines look like statements of a programming language.

    A line looks like a statement if it has the punctuation of code or begins with a keyword. At least two
    lines, and at least a quarter of all lines, must have the punctuation of code. The answer is False if
    every line has two words, or if all lines have the same number of cells (two or more).
    """
    n = len(head.records)
    n_marked = sum(_PUNCTUATED.search(line) is not None for line in head.records)
    n_worded = sum(_WORDED.match(line) is not None for line in head.records if not _PUNCTUATED.search(line))
    in_pairs = all(len(line.split()) == 2 for line in head.records)
    return (
        n_marked > 1
        and n_marked >= n / 4
        and n_marked + n_worded >= n / 2
        and not (in_pairs or _in_columns(head))
    )


def is_prose(head: Head) -> bool:
    """Return whether the lines look like sentences: many words, and punctuation at the end.

    At least half of the lines must have six words or more, and at least a seventh of all lines must end in
    punctuation. The answer is False if all lines have the same number of cells (two or more).
    """
    words = sorted(len(line.split()) for line in head.records)
    ends = sum(line.rstrip()[-1] in ".!?,;:" for line in head.records)
    return len(words) > 1 and words[len(words) // 2] >= 6 and ends >= len(words) / 7 and not _in_columns(head)


def _in_columns(head: Head) -> bool:
    """Return whether all lines that are not comments have the same number of cells, at least two."""
    widths = {len(re.split(r"[\t,;]", line)) for line in head.records}
    return len(widths) == 1 and widths != {1}


def is_python(head: Head) -> bool:
    """Return whether at least two kinds of Python statements occur.

    One of them must be ``def``, ``class`` or ``from``.
    """
    kinds = [
        r"(async )?def \w+\(",
        r"class \w+(\(.*\))?:",
        r"from [\w.]+ import ",
        r"import [\w.]+",
        r'r?"""',
        "@\\w",
    ]
    found = {i for i, kind in enumerate(kinds) for line in head.lines if re.match(kind, line.lstrip())}
    return len(found) > 1 and bool(found & {0, 1, 2})


def has_blocks(head: Head) -> bool:
    """Return whether the text has lines that open a block with ``{`` and lines that close one with ``}``."""
    lines = [line.strip() for line in head.lines]
    opened = any(line.endswith("{") for line in lines)
    return opened and any(line.startswith("}") or line.endswith(("}", "};", "});")) for line in lines)
