"""Fixtures of all tests: a separate environment, real servers, and the rule about skipping.

A server comes from `GROVE_TEST_NEO4J_URL`, `GROVE_TEST_REDIS_URL` or `GROVE_TEST_POSTGRES_URL` if set. Else
it is started on first use. If several processes run tests, only the first uses the Redis of the variable. A
test whose server or data is not available is skipped, with the reason. With `GROVE_TEST_REQUIRE_SERVICES=1`
(continuous integration) such a test fails instead, and a run with any skipped test fails too.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import hypothesis
import pytest

from tests.services import (
    Neo4jServer,
    PostgresServer,
    RedisServer,
    S3Server,
    ServerProcess,
    ServiceMissingError,
    patient,
)
from tests.services.postgres_server import create_database, drop_database

_REQUIRE = "GROVE_TEST_REQUIRE_SERVICES"
_WIPE_BATCH = 10_000

# A deadline for each example would only measure how busy the machine is; pytest-timeout limits each test.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=5_000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A background process of a shell ignores Ctrl-C, and the processes that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_skips: list[tuple[str, str]] = []
Server = TypeVar("Server", bound=ServerProcess)


def _services_required() -> bool:
    return os.environ.get(_REQUIRE) == "1"


def unavailable(reason: str) -> NoReturn:
    """Skip the test, or fail it if every service is required."""
    if _services_required():
        pytest.fail(f"{reason} ({_REQUIRE}=1)", pytrace=False)
    pytest.skip(reason)


# --- no silent skips in continuous integration --------------------------------------------------------------


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        where = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skips.append((report.nodeid, where))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skips and _services_required() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skips and _services_required():
        terminalreporter.section(f"skipped, which {_REQUIRE}=1 forbids", red=True)
        for test, reason in _skips:
            terminalreporter.line(f"{test}: {reason}")


# --- several processes --------------------------------------------------------------------------------------

ONE_PROCESS = pytest.mark.xdist_group("servers")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the numerical libraries on one thread in each of several processes (`-n 3`).

    With more threads than cores they spin while they wait for one another: tests that train models took three
    times the processor time.
    """
    if config.getoption("numprocesses", None):
        os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests that use Neo4j in one process if there are several (`-n 3`), since they empty it.

    On a slow machine, all tests may take longer.

    Redis starts so fast that each process has its own, and PostgreSQL gives each test a separate database.
    """
    for item in items:
        if "neo4j_url" in getattr(item, "fixturenames", ()):
            item.add_marker(ONE_PROCESS)
        if patient(1) > 1:
            _wait_longer(item)


def _wait_longer(item: pytest.Item) -> None:
    """Multiply the time limit of a test by how many times slower this machine is."""
    mark, option = item.get_closest_marker("timeout"), item.config.getoption("timeout")
    limit_s = mark.args[0] if mark else option or item.config.getini("timeout")
    if limit_s:
        item.add_marker(pytest.mark.timeout(patient(float(limit_s))), append=False)


def _alone(request: pytest.FixtureRequest) -> None:
    """Fail a test that could empty a server while a test in another process uses it."""
    groups = request.node.iter_markers("xdist_group")
    if not any(ONE_PROCESS.args == group.args for group in groups):
        pytest.fail(
            "shares a server, and nothing keeps it in the process of the others: name the fixture among the "
            "test's arguments, or mark the parameter that asks for it with tests.conftest.ONE_PROCESS",
            pytrace=False,
        )


# --- environment --------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path) -> Iterator[None]:
    """Hide the developer's settings, and give each test a separate home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("GROVE_") and not name.startswith("GROVE_TEST_"):
                patch.delenv(name)
        patch.setenv("GROVE_HOME", str(tmp_path / "home"))
        yield


# --- compiled loops -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def compiled_scoring() -> None:
    """Load all kernels of scorers, which then answer by compiled loops from the first row."""
    from labelgrove.ontology.geometry.rehearsals import REHEARSALS
    from labelgrove.ontology.geometry.scoring.kernelloading import load

    for rehearsal in REHEARSALS:
        if rehearsal.partition(":")[0] in ("tree_search", "restricted_search", "row_search"):
            load(rehearsal)


# --- servers ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Run a server for one test; if its program is missing, skip or fail by the rule above."""
    try:
        with server:
            yield server
    except ServiceMissingError as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def neo4j_server() -> Iterator[Neo4jServer]:
    """A Neo4j process that a test may kill and start again."""
    with serving(Neo4jServer()) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis process with an append-only file, which a test may kill and start again."""
    with serving(RedisServer(appendonly=True)) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL process that a test may kill and start again."""
    with serving(PostgresServer()) as server:
        yield server


def _url(request: pytest.FixtureRequest, name: str) -> str:
    """Return the URL from the environment, or that of our own server, restarted if a test left it dead.

    If there are several processes, only the first one uses the Redis of the environment: tests empty it.
    """
    given = os.environ.get(f"GROVE_TEST_{name.upper()}_URL")
    if given and (name != "redis" or os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"):
        return given
    server: ServerProcess = request.getfixturevalue(f"{name}_server")
    server.start()
    return server.url


@pytest.fixture
def neo4j_url(request: pytest.FixtureRequest) -> str:
    """The Bolt URL, with credentials, of a graph that may hold data of earlier tests."""
    _alone(request)
    return _url(request, "neo4j")


@pytest.fixture
def neo4j_clean_url(neo4j_url: str) -> str:
    """The Bolt URL of a graph without data; it has only the constraints and indexes of this version."""
    clear_neo4j(neo4j_url)
    return neo4j_url


@pytest.fixture
def neo4j_empty_url(neo4j_url: str) -> str:
    """The Bolt URL of a graph without nodes, constraints or indexes."""
    wipe_neo4j(neo4j_url)
    return neo4j_url


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """The URL of a Redis database that is emptied before the test."""
    import redis

    url = _url(request, "redis")
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The SQLAlchemy URL of a database that only this test uses."""
    server_url = _url(request, "postgres")
    url = create_database(server_url)
    yield url
    drop_database(url, server_url=_url(request, "postgres"))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 server."""
    with serving(S3Server()) as server:
        yield server


@pytest.fixture
def s3_url(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty bucket; the environment is set for its clients."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # clients are cached by arguments, without the endpoint
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"grove-{secrets.token_hex(8)}"
    s3_server.make_bucket(bucket)
    return f"s3://{bucket}"


def wipe_neo4j(url: str) -> None:
    """Delete all nodes, constraints and indexes, in batches that fit a small heap."""
    with running_neo4j(url) as run:
        _delete(run, "MATCH (n)")
        for name in [row["name"] for row in run("SHOW CONSTRAINTS YIELD name")]:
            run(f"DROP CONSTRAINT `{name.replace('`', '``')}` IF EXISTS")
        # The two token lookup indexes are part of every database, and matching by label needs them.
        for name in [row["name"] for row in run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'")]:
            run(f"DROP INDEX `{name.replace('`', '``')}` IF EXISTS")


def clear_neo4j(url: str) -> None:
    """Delete all data; keep the constraints and indexes of this version, since making them takes seconds."""
    from labelgrove.ontology.graph import GraphStore
    from labelgrove.ontology.graph.neo4j.neo4jengine import Neo4jEngine

    with running_neo4j(url) as run:
        _delete(run, "MATCH (n) WHERE NOT n:_Migration")
        run("CALL db.clearQueryCaches()")  # plans for the data of an earlier test
        if _schema(run) != _schemas.get(url):
            wipe_neo4j(url)
            with GraphStore(Neo4jEngine(url)) as store:
                store.migrate()
            _schemas[url] = _schema(run)


_schemas: dict[str, list[tuple[str, ...]]] = {}
"""The schema that `migrate` creates on an empty server, by the URL of the server."""


@contextlib.contextmanager
def running_neo4j(url: str) -> Iterator[Callable[..., list[Any]]]:
    import neo4j

    parts = urlsplit(url)
    auth = (parts.username, parts.password) if parts.username else None
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    with neo4j.GraphDatabase.driver(address, auth=auth) as driver:
        yield lambda query, **parameters: driver.execute_query(query, parameters, database_="neo4j").records


def _delete(run: Callable[..., list[Any]], matched: str) -> None:
    batch = f"{matched} WITH n LIMIT $batch DETACH DELETE n RETURN count(*) AS deleted"
    while run(batch, batch=_WIPE_BATCH)[0]["deleted"]:
        pass


def _schema(run: Callable[..., list[Any]]) -> list[tuple[str, ...]]:
    """Return constraints, indexes and recorded migrations, each as a row of texts."""
    queries = (
        "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties",
        "SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties",
        "MATCH (m:_Migration) RETURN m.version, m.checksum",
    )
    return sorted(tuple(map(str, row.values())) for query in queries for row in run(query))


# --- data ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def wordnet_dir() -> Path:
    """The folder with the database files of WordNet (`data.noun` and others)."""
    places = [Path("/usr/share/wordnet")]
    if home := os.environ.get("WNHOME"):
        places = [Path(home) / "dict", Path(home), *places]
    for place in places:
        if (place / "data.noun").is_file():
            return place
    unavailable("WordNet is not installed: apt-get install wordnet-base, or set WNHOME")
