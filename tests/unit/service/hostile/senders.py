"""Requests that lie about where they go, where they come from, and who sends them."""

from __future__ import annotations

from tests.unit.service.hostile.hostile_case import TOKEN, Case, get, post, raw, request

__all__ = ["CASES"]

_READ = "/v1/ontologies"
_QUERY = {"statement": "RETURN 1 AS n"}


def _to_host(rule: str, host: str) -> Case:
    return raw(rule, 421, "host", "is not a name of this service", request("GET", _READ, b"", {"Host": host}))


def _from_site(rule: str, says: str, **headers: str) -> Case:
    return post(rule, 403, "origin", says, "/v1/cypher", _QUERY, **headers)


def _as(
    rule: str, says: str, headers: dict[str, str], *, status: int = 401, kind: str = "not-signed-in"
) -> Case:
    sent = request("POST", "/v1/estimate", b"{}", {"Authorization": "", **headers})
    return raw(rule, status, kind, says, sent)


CASES = [
    _to_host("a name that was made to lead here", "evil.example"),
    _to_host("such a name with the port of this service", "evil.example:8321"),
    _to_host("this host as the beginning of another name", "127.0.0.1.evil.example"),
    _to_host("this host as a user of another one", "localhost@evil.example"),
    _to_host("another host behind a fragment", "evil.example#127.0.0.1"),
    _to_host("another host as the port", "localhost:80@evil.example"),
    _to_host("two hosts in one header", "127.0.0.1:8321, evil.example"),
    _to_host("the address of this machine in short", "127.1"),
    _to_host("the address of this machine as a number", "2130706433"),
    _to_host("the address of this machine in octal", "0177.0.0.1"),
    _to_host("every address of this machine", "0.0.0.0"),
    _to_host("an address of a private network", "192.168.0.7"),
    _to_host("an address of IPv6 without brackets", "::1"),
    _to_host("another address of IPv6", "[::2]:8321"),
    _to_host("an address of IPv4 as one of IPv6", "[::ffff:127.0.0.1]"),
    _to_host("a name with a final dot", "localhost."),
    _to_host("a name of letters that look alike", "xn--lclhost-8fg"),
    _from_site("a page of another site", "https://evil.example", Origin="https://evil.example"),
    _from_site("a page without an origin", "null", Origin="null"),
    _from_site("an origin on another port", ":9999", Origin="http://127.0.0.1:9999"),
    _from_site("an origin that begins as ours", "evil", Origin="http://127.0.0.1:8321.evil.example"),
    _from_site("an origin of another scheme", "ftp://", Origin="ftp://127.0.0.1:8321"),
    _from_site("an origin of a file", "file://", Origin="file://"),
    _from_site("a request that says it crosses sites", "cross-site", Sec_Fetch_Site="cross-site"),
    _from_site("a request of a neighboring site", "same-site", Sec_Fetch_Site="same-site"),
    _from_site(
        "a form of another site in our name",
        "must not change",
        Sec_Fetch_Site="cross-site",
        Origin="http://127.0.0.1:8321",
        Content_Type="application/x-www-form-urlencoded",
    ),
    _as("nobody", "this needs the scope work", {}),
    _as("a token that was never made", "unknown", {"Authorization": "Bearer grove_" + "A" * 43}),
    _as("a token cut short", "unknown", {"Authorization": f"Bearer {TOKEN[:1]}grove_x"}),
    _as("a token of another program", "unknown", {"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."}),
    _as("an empty token", "unknown", {"Authorization": "Bearer "}),
    _as("a token of 10,000 bytes", "unknown", {"Authorization": "Bearer " + "A" * 10_000}),
    _as("a token with quotes", "unknown", {"Authorization": "Bearer grove_' OR 1=1 --"}),
    _as("a name and a password", "this needs the scope work", {"Authorization": "Basic YTpi"}),
    _as("a session that was never opened", "this needs the scope work", {"Cookie": "grove-session=x"}),
    _as(
        "a session that somebody wrote",
        "this needs the scope work",
        {"Cookie": "grove-session=owner.9999999999.ab"},
    ),
    _as("a token as a cookie", "this needs the scope work", {"Cookie": f"grove-session={TOKEN}"}),
    _as("a user without a proxy", "this needs the scope work", {"X-Forwarded-User": "owner"}),
    get("a link that was never made", 410, "link", "link", "/enter", code="x" * 43),
    get("a link without a code", 400, "input", "code", "/enter"),
]
