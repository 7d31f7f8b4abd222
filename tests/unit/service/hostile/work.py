"""Jobs, queries and forms that ask for what nobody may have."""

from __future__ import annotations

from tests.unit.service.hostile.hostile_case import Case, post

__all__ = ["CASES"]


def _job(
    rule: str, says: str, asked: object, *, status: int = 400, kind: str = "input", **headers: str
) -> Case:
    return post(rule, status, kind, says, "/v1/jobs", asked, **headers)


def _with(
    rule: str, says: str, kind: str, status: int = 400, type_: str = "input", /, **parameters: object
) -> Case:
    asked = {"kind": kind, "parameters": {"ontology": "garden"} | parameters}
    return post(rule, status, type_, says, "/v1/jobs", asked)


def _query(rule: str, says: str, asked: object, status: int = 400, kind: str = "input") -> Case:
    return post(rule, status, kind, says, "/v1/cypher", asked)


def _bind(rule: str, says: str, asked: object, status: int = 400) -> Case:
    return post(rule, status, "input", says, "/v1/bundles/zoo/tree/bind", asked)


_DEEP = {"a": {}}
for _ in range(50):
    _DEEP = {"a": _DEEP}

_COVER = {"kind": "cover", "parameters": {"ontology": "garden"}}
CASES = [
    _job(
        "a job that is not JSON",
        "0: JSON decode error; see /openapi.json",
        b"kind=cover",
        Content_Type="application/json",
    ),
    _job("a job that is a list", "request: Input should be a valid dictionary or object to", [1]),
    _job(
        "a job in another form",
        "request: Input should be a valid dictionary or object to",
        b'{"kind": "cover"}',
        Content_Type="text/plain",
    ),
    _job("a job without a kind", "kind", {"parameters": {}}),
    _job("a kind that nobody knows", "magic", {"kind": "magic"}),
    _job("a kind of 65 characters", "kind", {"kind": "k" * 65}),
    _job("a kind that is a number", "kind", {"kind": 5}),
    _job("parameters that are a list", "parameters", _COVER | {"parameters": []}),
    _job("a job about no ontology", "ontology", {"kind": "cover", "parameters": {}}),
    _job("a target that is text", "target", _COVER | {"target": "x"}),
    _job(
        "a name for a kind without names",
        "results of the kind cover get no name; leave out the target",
        _COVER | {"target": {"ontology": "garden"}},
    ),
    _job(
        "JSON of 100,000 brackets",
        "There was an error parsing the body; see /reference",
        b"[" * 100_000,
        Content_Type="application/json",
    ),
    _job(
        "JSON with half a surrogate",
        "kind: Input should be a valid string, unable to parse raw",
        b'{"kind": "\\ud800"}',
        Content_Type="application/json",
    ),
    _job(
        "JSON that is not UTF-8",
        "There was an error parsing the body; see /reference",
        b'{"kind": "\xff"}',
        Content_Type="application/json",
    ),
    _job(
        "JSON with an infinite number",
        "ontology is inf; give a name, name@version or a digest, as",
        b'{"kind": "cover", "parameters": {"ontology": Infinity}}',
        Content_Type="application/json",
    ),
    _job("a wait that is not a number", "Prefer", _COVER, Prefer="wait=soon"),
    _job("a negative wait", "Prefer", _COVER, Prefer="wait=-1"),
    _job("a wait of a year", "Prefer", _COVER, Prefer="wait=99999999"),
    _with(
        "an ontology that is a path",
        "ontology name '../../etc': use 1 to 64 characters of a-z,",
        "cover",
        ontology="../../etc",
    ),
    _with(
        "an ontology that is a list",
        "ontology is ['garden']; give a name, name@version or a",
        "cover",
        ontology=["garden"],
    ),
    _with("an ontology of nobody", "nothing", "cover", 404, "not-found", ontology="nothing"),
    _with(
        "a version of nobody",
        "ontology 'garden' has no version '00000000', only",
        "cover",
        404,
        "not-found",
        ontology="garden@00000000",
    ),
    _with("a parameter that nobody knows", "color", "cover", color=1),
    _job(
        "a parameter that is half a character",
        "cover has no parameter \\ud800",
        b'{"kind": "cover", "parameters": {"ontology": "garden", "\\ud800": 1}}',
        Content_Type="application/json",
    ),
    _with("an artifact that somebody names", "snapshot", "cover", snapshot="0" * 64),
    _with("a metric that nobody knows", "metric", "cover", metric="taxicab"),
    _with("labels of a word", "labels", "cover", labels="some"),
    _with("labels of nobody", "nobody", "cover", 404, "unknown-label", labels=["nobody"]),
    _with("no labels at all", "labels", "cover", labels=[]),
    _with("a method of covers that nobody knows", "method", "cover", method="guess"),
    _with("a switch that is a word", "identifying", "cover", identifying="yes"),
    _with("a locus of nothing", "observed", "locus", observed=[]),
    _with("a locus of nobody", "nobody", "locus", 404, "unknown-label", observed=["nobody"]),
    _with("a locus of numbers", "keys are text", "locus", 404, "unknown-label", observed=[1]),
    _with("a locus of one label twice", "observed", "locus", observed=["oak", "oak"]),
    _with("a locus of a text", "observed", "locus", observed="oak"),
    _with("a block of no labels", "block", "locus", observed=["oak"], block=0),
    _with("more units than a job may have", "parts", "locus", observed=["oak"], parts=10_001),
    _with("a negative number of units", "parts", "locus", observed=["oak"], parts=-1),
    _with("a selection of no labels", "n", "selection", n=0),
    _with("a selection of a number of 4,000 digits", "n", "selection", n=10**4_000),
    _with("a block of a number of 4,000 digits", "block", "locus", observed=["oak"], block=10**4_000),
    _with("a selection of a fraction", "n", "selection", n=1.5),
    _with("a selection of nobody more", "nobody", "selection", 404, "unknown-label", observed=["nobody"]),
    _with("a bundle of no columns", "observed", "bundle", observed=[]),
    _with("a bundle of an unknown form", "form", "bundle", observed=["oak"], form="cube"),
    _with("distances in an unknown type", "dtype", "distances", dtype="float8"),
    _with("distances to columns that are filled in", "n_columns", "distances", n_columns=5),
    _with(
        "an evaluation of a file here", "outputs", "evaluation", outputs="/etc/passwd", truth="x", model="m"
    ),
    _with(
        "an evaluation of an address", "truth", "evaluation", truth="http://169.254.169.254/latest", model="m"
    ),
    _with("an ingest that is not an upload", "ingest", "ingest"),
    _job(
        "a rebuild of the graph", "rebuild-graph", {"kind": "rebuild-graph", "parameters": {"request": "x"}}
    ),
    _job("an experiment", "experiment", {"kind": "experiment", "parameters": {"experiment": "calibration"}}),
    post("an estimate of nothing", 400, "input", "kind", "/v1/estimate", {}),
    post(
        "a job of nobody cancelled", 404, "not-found", "there is no job", "/v1/jobs/" + "4" * 64 + "/cancel"
    ),
    post(
        "a job of nobody tried again", 404, "not-found", "there is no job", "/v1/jobs/" + "5" * 64 + "/retry"
    ),
    post("a job tried again that is a word", 404, "not-found", "latest", "/v1/jobs/latest/retry"),
    _query("a query without a statement", "statement", {}),
    _query("a query that is a number", "statement", {"statement": 1}),
    _query("a query of 100,001 characters", "statement", {"statement": "R" * 200_001}),
    _query("a query that is not Cypher", "first-keyword", {"statement": "SELECT 1"}),
    _query(
        "a query that writes",
        "refused by rule 'keyword-create': CREATE writes; a query",
        {"statement": "CREATE (n:Label) RETURN n"},
    ),
    _query(
        "a query that deletes",
        "refused by rule 'keyword-delete': DELETE writes; a query",
        {"statement": "MATCH (n) DETACH DELETE n"},
    ),
    _query(
        "a query of two statements",
        "refused by rule 'second-statement': it contains more than",
        {"statement": "RETURN 1; RETURN 2"},
    ),
    _query(
        "a query that reads a file",
        "refused by rule 'keyword-load': LOAD reads files and",
        {"statement": "LOAD FROM '/etc/passwd' RETURN *"},
    ),
    _query(
        "a query that copies to a file",
        "refused by rule 'keyword-copy': COPY reads and writes",
        {"statement": "COPY (RETURN 1) TO '/tmp/x.csv'"},
    ),
    _query(
        "a query that loads an extension",
        "refused by rule 'keyword-install': INSTALL fetches code",
        {"statement": "INSTALL httpfs"},
    ),
    _query(
        "a query that fetches an address",
        "refused by rule 'keyword-load': LOAD reads files and",
        {"statement": "LOAD FROM 'http://169.254.169.254/' RETURN *"},
    ),
    _query("a query with an unknown parameter", "$x", {"statement": "RETURN $x AS x"}),
    _query(
        "parameters of a query that are a list", "parameters", {"statement": "RETURN 1", "parameters": []}
    ),
    _bind("columns of nothing", "columns", {"columns": []}),
    _bind("columns of numbers", "columns", {"columns": [1]}),
    _bind("100,001 columns", "columns", {"columns": ["a"] * 100_001}),
    _bind("columns bound by a rule nobody knows", "by", {"columns": ["a"], "by": "guess"}),
]
