"""A request that breaks one rule, and the problem that has to answer it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

__all__ = ["TOKEN", "Case", "get", "post", "raw", "upload"]

TOKEN = "TOKEN"
"""Stands for the token with all scopes; it is filled in when the request is sent."""


@dataclass(frozen=True)
class Case:
    """Bytes to send, and the problem that is expected.

    Attributes
    ----------
    rule : str
        What is wrong, unique among all cases.
    status, kind, says : int, str, str
        Status, type and a part of the detail of the problem.
    sent : bytes
        The whole request; `TOKEN` in it is replaced.
    """

    rule: str
    status: int
    kind: str
    says: str
    sent: bytes = field(repr=False)


def raw(rule: str, status: int, kind: str, says: str, sent: bytes) -> Case:
    """Return the case of bytes that are sent as they are."""
    return Case(rule, status, kind, says, sent)


def request(method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """Return a request with a token, unless the headers say otherwise."""
    known = {"Host": "127.0.0.1:8321", "Authorization": f"Bearer {TOKEN}", "Connection": "close"}
    if body or method == "POST":
        known["Content-Length"] = str(len(body))
    lines = [f"{name}: {value}" for name, value in (known | headers).items() if value != ""]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
    return head.encode("latin-1") + body


def get(rule: str, status: int, kind: str, says: str, path: str, /, **query: Any) -> Case:
    """Return the case of a GET with a query."""
    asked = f"?{urlencode(query, quote_via=quote, doseq=True)}" if query else ""
    return Case(rule, status, kind, says, request("GET", path + asked, b"", {}))


def post(
    rule: str, status: int, kind: str, says: str, path: str, body: object = b"", /, **headers: str
) -> Case:
    """Return the case of a POST; a body that is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    types = {} if isinstance(body, bytes) else {"Content-Type": "application/json"}
    return Case(rule, status, kind, says, request("POST", path, content, types | named))


def upload(
    rule: str, status: int, kind: str, says: str, content: bytes, /, name: str = "a.csv", **fields: str
) -> Case:
    """Return the case of a form that ingests a file."""
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode()
        for k, v in fields.items()
    ]
    parts.append(f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode())
    body = b"".join([*parts, content, b"\r\n--x--\r\n"])
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    return Case(rule, status, kind, says, request("POST", "/v1/ontologies/a/ingest", body, headers))
