"""Damage a file at random: bytes, lines, tokens, nesting, encoding. Equal seeds give equal mutants."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable

__all__ = ["mutant"]

_LONGEST = 4 << 20
"""Bytes of the largest mutant."""

_PIECES = (
    *(bytes([c]) for c in b"\0\t\n\r \"'#!\\{}[]()<>|:;,=@~-_*&%^/.0\x1b\x7f\x80\xc3\xff"),
    *"\ufeff \ufffd \u202e \u200b \xa0 \U0001f600 e\u0301e\u0301".encode().split(),
    *b"\xed\xa0\x80 \\u0000 \\ud800 null true NaN Infinity 1e999 -1 1.0 000 n/a 7fffffffffffffff".split(),
    *b"parent child key name id: is_a: alt_id: replaced_by: [Term] [Typedef] is_obsolete:true".split(),
    *b'http:// file:// _:b ^^< @base< "@en << >> {| "@context":"http://e.org/" {a="b"} ""'.split(),
    *b"<!-- --> <![CDATA[ ]]> <?xml <!DOCTYPE &a; &#0; &#x10ffff; />".split(),
    *(b"\r\n", b"\n\n", b"\\\n", b"\n[Term]\n", b" ! ", b" > ", b" @ ", b"\t|\t", b"\t|\n", b"9" * 30),
    *(
        b"relationship: part_of ",
        b"@prefix a: <b> .\n",
        b'<!ENTITY a "b">',
        b'<!ENTITY a SYSTEM "file:///a">',
    ),
)

_TOKEN = re.compile(rb"[\w.:/-]+")


def mutant(content: bytes, others: list[bytes], seed: str) -> bytes:
    """Return a damaged copy of `content`; some damage copies parts of `others`."""
    rng = random.Random(seed)
    data = content
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        data = rng.choice(_DAMAGES)(data, rng, others)[:_LONGEST]
    if rng.random() < 0.03:
        data = rng.choice(_ENDINGS)(data, rng)[:_LONGEST]
    return data


_Damage = Callable[[bytes, random.Random, list[bytes]], bytes]


def _span(data: bytes, rng: random.Random, longest: int) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.randint(1, longest))


def _flip(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    begin, end = _span(data, rng, rng.choice((1, 5, 50, 500)))
    return data[:begin] + data[end:]


def _truncate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert_bytes(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, _ = _span(data, rng, 1)
    return data[:at] + rng.randbytes(rng.randint(1, 8)) + data[at:]


def _insert_piece(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, _ = _span(data, rng, 1)
    return data[:at] + rng.choice(_PIECES) + data[at:]


def _replace_by_piece(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    begin, end = _span(data, rng, 12)
    return data[:begin] + rng.choice(_PIECES) + data[end:]


def _repeat_piece(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, _ = _span(data, rng, 1)
    return data[:at] + rng.choice(_PIECES) * rng.choice((10, 1_000, 20_000)) + data[at:]


def _repeat_span(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    begin, end = _span(data, rng, 60)
    return data[:end] + data[begin:end] * rng.choice((1, 1, 10, 1_000)) + data[end:]


def _lines(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Drop, repeat, swap, join or shuffle lines."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(5)
    if action == 0:
        del lines[i]
    elif action == 1:
        most = _LONGEST // (len(lines[j]) + 1)
        lines[i:i] = [lines[j]] * min(rng.choice((1, 1, 2, 3_000)), most)
    elif action == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif action == 3:
        lines[i : i + 2] = [b"".join(lines[i : i + 2])]
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


def _tokens(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Put one token of the file in the place of another: this makes cycles, clashes and unknown keys."""
    places = [match.span() for match in _TOKEN.finditer(data)]
    if not places:
        return data
    (begin, end), (first, last) = rng.choice(places), rng.choice(places)
    return data[:begin] + data[first:last] + data[end:]


def _numbers(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    places = [match.span() for match in re.finditer(rb"\d+", data)]
    if not places:
        return data
    begin, end = rng.choice(places)
    number = rng.choice((b"0", b"-1", b"00", b"4294967296", b"9" * 25, b"1e400", b"0x10", b"\xd9\xa3"))
    return data[:begin] + number + data[end:]


def _splice(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Go on with a part of another file."""
    other = rng.choice(others)
    begin, end = _span(other, rng, 2_000)
    at, _ = _span(data, rng, 1)
    return data[:at] + other[begin:end] + data[at:] * rng.randrange(2)


def _nest(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Open brackets, elements or indentation deeply, with or without closing them."""
    opened, closed = rng.choice(
        (
            (b"[", b"]"),
            (b"{", b"}"),
            (b"(", b")"),
            (b"<a>", b"</a>"),
            (b'{"children":[', b"]}"),
            (b"[ a ", b"]"),
        )
    )
    depth = rng.choice((50, 3_000, 100_000))
    begin, end = _span(data, rng, 100)
    return data[:begin] + opened * depth + data[begin:end] + closed * (depth * rng.randrange(2)) + data[end:]


def _staircase(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Add lines that are each indented more than the one before."""
    step = rng.choice((b" ", b"\t", b"--"))
    depth = rng.choice((50, 1_000))
    stairs = b"\n".join(step * i + b"a%d" % i for i in range(depth))
    at = data.find(b"\n", rng.randrange(len(data) + 1)) + 1
    return data[:at] + stairs + b"\n" + data[at:]


_DAMAGES: tuple[_Damage, ...] = (
    *(_flip, _cut, _cut, _insert_bytes, _insert_piece, _insert_piece, _insert_piece, _replace_by_piece),
    *(_replace_by_piece, _lines, _lines, _lines, _tokens, _tokens, _tokens, _numbers, _repeat_span),
    *(_repeat_piece, _truncate, _splice, _splice, _nest, _staircase),
)


def _packed(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _packed_badly(data: bytes, rng: random.Random) -> bytes:
    return _flip(gzip.compress(data, 1, mtime=0)[: rng.randrange(20, 100_000)], rng, [])


def _packed_bomb(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(data + b"\n".ljust(1_000) * (32 << 10), 9, mtime=0)


def _as_utf16(data: bytes, rng: random.Random) -> bytes:
    return data.decode(errors="replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-32")), "replace")


def _as_latin1(data: bytes, rng: random.Random) -> bytes:
    return data.decode(errors="replace").encode("latin-1", "replace") + b"\xe9\n"


def _with_old_line_ends(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\r")))


_ENDINGS = (_packed, _packed_badly, _packed_bomb, _as_utf16, _as_latin1, _with_old_line_ends)
