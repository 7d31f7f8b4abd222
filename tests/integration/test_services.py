"""The test servers themselves: they start, keep data over SIGKILL, and say why when they cannot start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import wipe_neo4j
from tests.services import (
    Neo4jServer,
    PostgresServer,
    RedisServer,
    ServerProcess,
    ServiceMissingError,
    ServiceStartError,
    wait_until,
)
from tests.services import neo4j_server as neo4j_module
from tests.services.neo4j_server import fetch_jars, pinned_version
from tests.services.postgres_server import _connect, create_database, drop_database
from tests.services.process import find_program, free_port

pytestmark = [pytest.mark.services, pytest.mark.long]


def _kill_and_start(server: ServerProcess) -> None:
    first = server.pid
    server.kill()
    assert not server.running
    assert not psutil.pid_exists(first)
    server.start()
    assert server.pid != first


def test_neo4j_keeps_committed_data_over_sigkill(neo4j_server: Neo4jServer) -> None:
    neo4j_server.start()
    wipe_neo4j(neo4j_server.url)
    with neo4j_server.driver() as driver:
        driver.execute_query("CREATE CONSTRAINT IF NOT EXISTS FOR (p:Probe) REQUIRE p.id IS UNIQUE")
        driver.execute_query("UNWIND range(1, 1000) AS i CREATE (:Probe {id: i})")
    _kill_and_start(neo4j_server)
    with neo4j_server.driver() as driver:
        assert driver.execute_query("MATCH (p:Probe) RETURN count(p)").records[0][0] == 1000
        assert len(driver.execute_query("SHOW CONSTRAINTS").records) == 1
    wipe_neo4j(neo4j_server.url)
    with neo4j_server.driver() as driver:
        assert driver.execute_query("MATCH (n) RETURN count(n)").records[0][0] == 0
        assert driver.execute_query("SHOW CONSTRAINTS").records == []
        assert {row["type"] for row in driver.execute_query("SHOW INDEXES").records} == {"LOOKUP"}
    assert neo4j_server.version.endswith("community")


def test_neo4j_stops_cleanly_and_asks_for_its_password(neo4j_server: Neo4jServer) -> None:
    import neo4j

    neo4j_server.start()
    with (
        pytest.raises(neo4j.exceptions.AuthError),
        neo4j.GraphDatabase.driver(neo4j_server.address, auth=("neo4j", "not-the-password")) as driver,
    ):
        driver.verify_connectivity()
    neo4j_server.stop()
    assert "Stopped." in neo4j_server.log_tail(3)
    neo4j_server.start()


def test_neo4j_says_why_it_cannot_start() -> None:
    server = Neo4jServer(settings={"server.memory.pagecache.size": "a lot"})
    with pytest.raises(ServiceStartError, match="pagecache"):
        server.start()
    server.close()
    assert not server.home.exists()


@pytest.fixture
def new_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the jars and no archive of classes; every start of the recording server is told to us."""
    (tmp_path / "labelgrove-neo4j").mkdir()
    (tmp_path / "labelgrove-neo4j" / pinned_version()).symlink_to(fetch_jars())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "labelgrove-neo4j"


@pytest.mark.parametrize(("command", "reason"), [("exit 3", "status 3"), ("sleep 60", "waited 0.5 s")])
def test_neo4j_does_without_classes_that_cannot_be_recorded_in_time(
    new_machine: Path,
    command: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture,
) -> None:
    monkeypatch.setattr(neo4j_module._Recorder, "_command", lambda self: ["/bin/sh", "-c", command])
    monkeypatch.setattr(neo4j_module._Recorder, "start_deadline_s", 0.5)
    server = Neo4jServer()
    try:
        server._prepare()
        said = capfd.readouterr().err
        assert "recording the classes" in said
        assert reason in said
        assert "it starts without" in said
        assert not any("-XX:SharedArchiveFile" in option for option in server._jvm_options)
        assert server._class_sharing(next(new_machine.glob("*.failed")).stem.rpartition("-")[2]) == []
        assert "recording" not in capfd.readouterr().err  # not again today
    finally:
        server.close()


def test_redis_keeps_appended_data_over_sigkill(redis_server: RedisServer) -> None:
    redis_server.start()
    with redis_server.client() as client:
        client.set("probe", "1")
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        # Written to the file before the reply is sent; syncing it matters to power cuts, not to SIGKILL.
    _kill_and_start(redis_server)
    with redis_server.client() as client:
        assert client.get("probe") == "1"
        client.delete("probe")


def test_redis_arguments_win_over_defaults() -> None:
    with RedisServer(arguments=["--maxmemory", "32mb", "--maxmemory-policy", "allkeys-lru"]) as server:
        with server.client() as client:
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "allkeys-lru"}
            client.set("probe", "1")
        _kill_and_start(server)
        with server.client() as client:
            assert client.get("probe") is None


def test_postgres_keeps_committed_data_over_sigkill(postgres_server: PostgresServer) -> None:
    postgres_server.start()
    url = create_database(postgres_server.url)
    with _connect(url) as connection:
        connection.execute("CREATE TABLE probe (id int PRIMARY KEY)")
        connection.execute("INSERT INTO probe SELECT generate_series(1, 1000)")
        family = psutil.Process(postgres_server.pid).children(recursive=True)
    _kill_and_start(postgres_server)
    assert not any(process.is_running() for process in family)
    with _connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM probe").fetchone() == (1000,)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    drop_database(url, server_url=postgres_server.url)
    with _connect(postgres_server.url) as connection:
        names = connection.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'grove_test_%'"
        ).fetchall()
    assert url.rpartition("/")[2] not in {name for (name,) in names}


def test_postgres_stops_cleanly_with_a_client_connected(postgres_server: PostgresServer) -> None:
    postgres_server.start()
    with _connect(postgres_server.url):
        postgres_server.stop()
    assert "database system is shut down" in postgres_server.log_tail(3)
    postgres_server.start()
    assert int(postgres_server.version.partition(".")[0]) >= 13


def test_url_fixtures_reach_their_servers(neo4j_clean_url: str, redis_url: str, postgres_url: str) -> None:
    import redis

    assert neo4j_clean_url.startswith("bolt://")
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
    with _connect(postgres_url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchone() == (0,)


@pytest.fixture
def orphan_maker(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """An interpreter that starts a Redis server, prints its pid and home, and then hangs."""
    script = (
        "from tests.services import RedisServer\n"
        "server = RedisServer()\nserver.start()\n"
        "print(server.pid, flush=True)\nprint(server.home, flush=True)\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        yield process
        process.kill()


def test_server_does_not_outlive_its_interpreter(orphan_maker: subprocess.Popen[str]) -> None:
    assert orphan_maker.stdout is not None
    pid = int(orphan_maker.stdout.readline())
    home = Path(orphan_maker.stdout.readline().strip())
    assert psutil.pid_exists(pid)
    orphan_maker.kill()
    orphan_maker.wait(10)
    wait_until(lambda: not _alive(pid), deadline_s=10, what="the guard to end the server")
    wait_until(lambda: not home.exists(), deadline_s=10, what="the guard to remove the server's home")


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_run_command_passes_urls_and_exit_status() -> None:
    script = "import os, sys; print(os.environ['GROVE_TEST_REDIS_URL']); sys.exit(7)"
    done = subprocess.run(
        [sys.executable, "-m", "tests.services", "run", "--", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 7, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["neo4j", "redis", "postgres"]
    assert lines[3].startswith("redis://")


def test_foreground_command_ends_on_sigterm() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.services", "redis", "--print-url"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("redis://")
        server = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not any(child.is_running() for child in server)


def test_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ServiceMissingError, match="apt-get install redis-server"):
        find_program("redis-server", package="redis-server")


def test_ports_stay_out_of_the_client_range() -> None:
    assert all(10_000 <= free_port() < 60_000 for _ in range(20))


def test_wait_until_gives_up_by_name() -> None:
    with pytest.raises(TimeoutError, match="the impossible"):
        wait_until(lambda: False, deadline_s=0.1, what="the impossible")


@pytest.mark.parametrize(("required", "status"), [("0", 0), ("1", 1)])
def test_a_skip_fails_the_run_where_services_are_required(tmp_path: Path, required: str, status: int) -> None:
    (tmp_path / "test_it.py").write_text(
        "import os, pytest\n"
        "def test_own_environment(tmp_path):\n"
        "    assert 'GROVE_GRAPH_URL' not in os.environ\n"
        "    assert os.environ['GROVE_HOME'] == str(tmp_path / 'home')\n"
        "def test_skipped():\n"
        "    pytest.skip('no moon tonight')\n"
        "@pytest.mark.xfail(reason='known')\n"
        "def test_known():\n"
        "    assert False\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "GROVE_TEST_REQUIRE_SERVICES": required, "GROVE_GRAPH_URL": "bolt://nowhere:7687"},
    )
    assert done.returncode == status, done.stdout
    assert "1 passed, 1 skipped, 1 xfailed" in done.stdout
    assert ("test_it.py::test_skipped: Skipped: no moon tonight" in done.stdout) is bool(status)


@pytest.mark.parametrize(("required", "outcome"), [("0", "1 skipped"), ("1", "1 error")])
def test_a_missing_program_skips_or_fails(tmp_path: Path, required: str, outcome: str) -> None:
    (tmp_path / "test_it.py").write_text("def test_redis(redis_url):\n    pass\n")
    env = {name: text for name, text in os.environ.items() if name != "GROVE_TEST_REDIS_URL"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rsE", "-p", "tests.conftest", "-c", os.devnull, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**env, "GROVE_TEST_REQUIRE_SERVICES": required, "PATH": os.devnull},
    )
    assert outcome in done.stdout
    assert "apt-get install redis-server" in done.stdout
