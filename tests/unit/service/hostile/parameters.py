"""Parameters of routes that break a rule, and paths that lead nowhere."""

from __future__ import annotations

from tests.unit.service.hostile.hostile_case import Case, get, post, raw, request

__all__ = ["CASES"]

_G = "/v1/ontologies/garden"


def _bad(rule: str, says: str, path: str, /, **query: object) -> Case:
    return get(rule, 400, "input", says, path, **query)


def _missing(rule: str, says: str, path: str, /, kind: str = "not-found", **query: object) -> Case:
    return get(rule, 404, kind, says, path, **query)


def _nowhere(rule: str, path: str, status: int = 404) -> Case:
    return raw(rule, status, "not-found", "", request("GET", path, b"", {}))


CASES = [
    _missing("an ontology that does not exist", "nothing", "/v1/ontologies/nothing"),
    _bad(
        "a name of an ontology with a slash, encoded",
        "ontology name 'a\\\\b': use 1 to 64 characters of a-z, 0-9,",
        "/v1/ontologies/a%5Cb",
    ),
    _bad("a name of an ontology of 65 characters", "ontology", "/v1/ontologies/" + "a" * 65),
    _bad("a version of three digits", "version", f"{_G}/label", key="oak", version="abc"),
    _bad("a version of 65 digits", "version", f"{_G}/label", key="oak", version="a" * 65),
    _bad("a version that is a path", "version", f"{_G}/label", key="oak", version="../../x"),
    _missing("a version that does not exist", "00000000", f"{_G}/label", key="oak", version="00000000"),
    _bad("no key", "key", f"{_G}/label"),
    _bad("a key of 4,097 characters", "key", f"{_G}/label", key="k" * 4_097),
    _missing("a key that does not exist", "oka", f"{_G}/label", "unknown-label", key="oka"),
    _missing(
        "a key with a NUL",
        "label 'oak\\x00' is not among the 5 labels; close to it:",
        f"{_G}/label",
        "unknown-label",
        key="oak\0",
    ),
    _missing(
        "a key that is half a character",
        "label '���' is not among the 5 labels",
        f"{_G}/children",
        "unknown-label",
        key=b"\xed\xa0\x80",
    ),
    _bad("a page of no items", "limit", f"{_G}/children", key="plant", limit=0),
    _bad("a page of 1,001 items", "limit", f"{_G}/children", key="plant", limit=1_001),
    _bad("a page of a number with a point", "limit", f"{_G}/siblings", key="oak", limit="1.5"),
    _bad("a page of 5,000 digits", "limit", f"{_G}/descendants", key="oak", limit="9" * 5_000),
    _bad("a cursor of nonsense", "after", f"{_G}/children", key="plant", after="nonsense"),
    _bad("a cursor that is not ASCII", "after", f"{_G}/siblings", key="oak", after="é"),
    _bad("a search for 4,097 characters", "q", f"{_G}/labels", q="q" * 4_097),
    _bad("a search for a negative depth", "depth", f"{_G}/labels", q="oak", depth=-1),
    _bad("a search for leaves that are neither", "leaf", f"{_G}/labels", q="oak", leaf="perhaps"),
    _missing("a search below nothing", "nobody", f"{_G}/labels", "unknown-label", q="oak", under="nobody"),
    _bad("suggestions beyond the most", "limit", f"{_G}/suggest", q="o", limit=10_000),
    _bad("suggestions for nothing", "q", f"{_G}/suggest"),
    _bad("a name of nothing", "name", f"{_G}/lookup"),
    _bad("an index below zero", "idx", f"{_G}/item", idx=-1),
    _missing("an index of 2^64", "have 0 to 4", f"{_G}/item", idx=2**64),
    _bad("a path from nowhere", "from", f"{_G}/path", to="oak"),
    _missing("a path to nobody", "nobody", f"{_G}/path", "unknown-label", **{"from": "oak", "to": "nobody"}),
    _bad("an ancestor of one label", "from: Field required; see /openapi.json", f"{_G}/lca", key="oak"),
    _bad("a window from a negative row", "at", f"{_G}/window", at=-1),
    _bad("a window of 1,001 rows", "rows", f"{_G}/window", rows=1_001),
    _bad("a window that opens nobody", "give indices of labels", f"{_G}/window", open="nobody"),
    _bad("a window that opens 2,001 labels", "open", f"{_G}/window", open=["oak"] * 2_001),
    _bad("a map of no width", "width", f"{_G}/map", width=1),
    _bad("a map of a million pixels", "width", f"{_G}/map", width=1_000_000),
    _bad("a map of no levels", "levels", f"{_G}/map", levels=0),
    _bad("a map of 65 levels", "levels", f"{_G}/map", levels=65),
    _missing("a map of nobody", "nobody", f"{_G}/map", "unknown-label", focus="nobody"),
    _missing("a map with marks of no job", "there is no job", f"{_G}/map", marks="0" * 64),
    _missing("a map with marks of a word", "latest", f"{_G}/map", marks="latest"),
    _bad("an export of an unknown format", "format", f"{_G}/export", format="exe"),
    _missing(
        "an export of nobody's branch",
        "nobody",
        f"{_G}/export",
        "unknown-label",
        format="edges",
        under="nobody",
    ),
    _bad("a search of everything for nothing", "q", "/v1/search"),
    _bad("jobs in an unknown state", "state", "/v1/jobs", state="asleep"),
    *[
        _bad(f"jobs whose {name} has a NUL", f"{name}: 'a\\x00' has a NUL", "/v1/jobs", **{name: "a\0"})
        for name in ("kind", "ontology", "asked_by")
    ],
    _bad("jobs that are stale perhaps", "stale", "/v1/jobs", stale="perhaps"),
    _missing("a job that does not exist", "there is no job", "/v1/jobs/" + "0" * 64),
    _missing("a job that is a path", "there is no job", "/v1/jobs/..%5C..%5Cetc"),
    _missing("a job of odd letters", "ZZZZZZZZ", "/v1/jobs/ZZZZZZZZ/units"),
    _missing("units of no job", "there is no job", "/v1/jobs/" + "1" * 64 + "/units"),
    _missing("the result of no job", "there is no job", "/v1/jobs/" + "2" * 64 + "/result"),
    _missing("events of no job", "there is no job", "/v1/jobs/" + "3" * 64 + "/events"),
    _bad(
        "bundles of a name that is none",
        "ontology name 'a/b': use 1 to 64 characters of a-z, 0-9,",
        "/v1/bundles",
        ontology="a/b",
    ),
    _missing(
        "bundles of no ontology",
        "ontology 'nothing' is not in the catalog (known: garden,",
        "/v1/bundles",
        ontology="nothing",
    ),
    _missing(
        "a bundle that does not exist",
        "there is no bundle 'zoo/nothing'; see /v1/bundles",
        "/v1/bundles/zoo/nothing",
    ),
    _nowhere("a route that does not exist", "/v1/nothing"),
    _nowhere("a folder above the static files", "/static/../../etc/passwd"),
    _nowhere("a folder above them, encoded", "/static/%2e%2e/%2e%2e/etc/passwd"),
    _nowhere("a folder above them, encoded twice", "/static/%252e%252e/etc/passwd"),
    _nowhere("a folder above them, with a NUL", "/static/explorer.css%00.png"),
    _nowhere("a folder above them, with backslashes", "/static/..%5c..%5cetc%5cpasswd"),
    _nowhere("an absolute path", "//etc/passwd"),
    _nowhere("an address as the path", "http://evil.example/v1/ontologies"),
    _nowhere("the path of another service", "/v1/ontologies/garden/../../../metrics"),
    raw(
        "a method that a route has not",
        405,
        "method-not-allowed",
        "Method Not Allowed; see /reference",
        request("DELETE", "/v1/jobs", b"", {}),
    ),
    raw("a method that nobody knows", 405, "method-not-allowed", "", request("BREW", "/about", b"", {})),
    raw(
        "a proxy asked to connect",
        404,
        "not-found",
        "Not Found; see /reference",
        request("CONNECT", "evil.example:443", b"", {}),
    ),
    raw("a stream begun by HEAD", 405, "method-not-allowed", "", request("HEAD", "/v1/events", b"", {})),
    post(
        "a body for a route without one",
        405,
        "method-not-allowed",
        "Method Not Allowed; see /reference",
        "/v1/ontologies",
        b"x",
    ),
    post("more than a request may have", 413, "body", "at most 1,048,576", "/v1/cypher", b" " * 1_048_577),
]
