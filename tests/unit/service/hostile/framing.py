"""What is not HTTP, or tells two readers two things."""

from __future__ import annotations

from tests.unit.service.hostile.hostile_case import Case, raw

__all__ = ["CASES"]


def _head(
    rule: str, says: str, *lines: bytes, status: int = 400, first: bytes = b"GET /healthz HTTP/1.1"
) -> Case:
    return raw(rule, status, "http", says, b"\r\n".join([first, *lines, b"", b""]))


def _chunks(rule: str, says: str, body: bytes) -> Case:
    head = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    head += b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    return raw(rule, 400, "http", says, head + body)


_H = b"Host: localhost"
CASES = [
    _head("a greeting of TLS", "illegal request line", first=b"\x16\x03\x01\x02\x00\x01\x00"),
    _head("a request line without a version", "illegal request line", _H, first=b"GET /healthz"),
    _head("a request line of one word", "illegal request line", _H, first=b"GET"),
    _head("a blank in the path", "illegal request line", _H, first=b"GET /a b HTTP/1.1"),
    _head("a tab behind the method", "illegal request line", _H, first=b"GET\t/healthz HTTP/1.1"),
    _head("a control character in the path", "illegal request line", _H, first=b"GET /\x01 HTTP/1.1"),
    _head("a byte above 127 in the path", "illegal request line", _H, first=b"GET /\xff HTTP/1.1"),
    _head("a method with a slash", "illegal request line", _H, first=b"GE/T / HTTP/1.1"),
    _head("a version of letters", "illegal request line", _H, first=b"GET / HTTP/x.y"),
    _head("HTTP/2 without an agreement", "illegal request line", b"SM", first=b"PRI * HTTP/2.0x"),
    _head("no name of the host", "Host", b"Accept: */*"),
    _head("two names of the host", "Host", _H, _H),
    _head("a header without a colon", "illegal header line", _H, b"Accept"),
    _head("a blank before the colon", "illegal header line", _H, b"Content-Length : 0"),
    _head("a header without a name", "illegal header line", _H, b": x"),
    _head("a NUL in a header", "illegal header line", _H, b"X: \x00"),
    _head("a bare line feed in a header", "illegal header line", _H, b"X: a\nY Z: b"),
    _head("a folded first header", "continuation line", b" folded: x", _H),
    _head("a head of 140,000 bytes", "too large", _H, b"X: " + b"y" * 140_000, status=431),
    _head("fifty thousand headers", "too large", _H, *[b"X: y"] * 50_000, status=431),
    _head("two lengths", "conflicting Content-Length", _H, b"Content-Length: 1", b"Content-Length: 2"),
    _head("a list of two lengths", "conflicting Content-Length", _H, b"Content-Length: 3, 4"),
    _head("a length with a sign", "bad Content-Length", _H, b"Content-Length: +1"),
    _head("a negative length", "bad Content-Length", _H, b"Content-Length: -1"),
    _head("a length in hexadecimal", "bad Content-Length", _H, b"Content-Length: 0x10"),
    _head("a length of 30 digits", "bad Content-Length", _H, b"Content-Length: " + b"9" * 30),
    _head("an encoding besides chunked", "chunked", _H, b"Transfer-Encoding: gzip, chunked"),
    _head("an encoding spelled otherwise", "chunked", _H, b"Transfer-Encoding: xchunked"),
    _head(
        "an encoding told twice", "multiple", _H, b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"
    ),
    _head(
        "a length beside chunks",
        "Content-Length and Transfer-Encoding",
        _H,
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        first=b"POST /sign-in HTTP/1.1",
    ),
    _chunks("a chunk whose length is not a number", "chunk", b"zz\r\n"),
    _chunks("a chunk of a negative length", "chunk", b"-1\r\n\r\n"),
    _chunks("a chunk of 2^100 bytes", "chunk", b"fffffffffffffffffffffffff\r\n"),
    _chunks("a chunk longer than it says", "chunk", b"5\r\nhelloX\r\n"),
    _chunks("a trailer without a colon", "header", b"0\r\nnonsense\r\n\r\n"),
]
