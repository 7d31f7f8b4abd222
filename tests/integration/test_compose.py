"""docker-compose.yml: rules that every service keeps, and each service's own words on installed programs."""

from __future__ import annotations

import base64
import importlib.metadata
import json
import re
import shlex
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from tests.conftest import serving
from tests.deployment.compose import PARTS as GROVE
from tests.deployment.compose import ROOT, SERVICES, environment, interpolated, size_bytes
from tests.integration.celery_worker import CeleryWorker
from tests.integration.compose_support import (
    PASSWORDS,
    PATH,
    ComposeRedis,
    composed,
    need,
    run_health_check,
)
from tests.integration.workers_support import PARTS, registered, settings_in
from tests.services import (
    Neo4jServer,
    PostgresServer,
    ServerProcess,
    wait_until,
)
from tests.services.postgres_server import _connect

pytestmark = pytest.mark.long

CORE = ["neo4j", "postgres", "redis-broker", "redis-cache"]

each_service = pytest.mark.parametrize("name", sorted(SERVICES))


# --- rules --------------------------------------------------------------------------------------------------


def test_profiles() -> None:
    assert {name for name, service in SERVICES.items() if "core" in service["profiles"]} == set(CORE)
    # A service that another one waits for must be in every profile of that one.
    for service in SERVICES.values():
        for needed in service.get("depends_on", {}):
            assert set(service["profiles"]) <= set(SERVICES[needed]["profiles"])


@each_service
def test_ports_are_published_on_loopback_unless_somebody_asks_for_tls_elsewhere(name: str) -> None:
    assert "network_mode" not in SERVICES[name]
    address = r"\$\{TLS_ADDRESS:-127\.0\.0\.1\}" if name == "tls" else r"127\.0\.0\.1"
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(address + r":\$\{\w+:-\d+\}:\d+", port), port


@each_service
def test_no_password_is_written_down(name: str) -> None:
    required = r"\$\{\w+_PASSWORD:\?[^}]+\}"
    command = " ".join(SERVICES[name].get("command", []))
    for key, text in SERVICES[name].get("environment", {}).items():
        secret = (
            re.search(r"://[^/@:$]*:(?P<url>.+)@|^\w+[/:](?P<pair>\$.+)$", str(text))
            if "_URL" in key or "AUTH" in key
            else None
        )
        if secret is not None:
            assert re.fullmatch(required, secret["url"] or secret["pair"] or ""), key
        elif text == f"${{{key}:-}}":  # of one profile alone: what the service starts with asks for it
            assert re.search(rf"\$\$\{{{key}:\?[^}}]+\}}", command), key
        elif re.search("PASSWORD|AUTH|SECRET|TOKEN", key):
            assert re.fullmatch(required, str(text)), key
    for word in SERVICES[name].get("command", []):
        assert not re.search(r"(requirepass|password)[ =]+(?!\"\$\$)", word)


def test_a_password_is_asked_for_where_its_service_runs() -> None:
    """Compose puts in the values of every service, also of those whose profile does not run."""
    asked = {name: set(re.findall(r"(?<!\$)\$\{(\w+):\?", json.dumps(SERVICES[name]))) for name in SERVICES}
    of_core_and_worker = {
        variable
        for name, service in SERVICES.items()
        if {"core", "worker", "web"} & set(service["profiles"])
        for variable in asked[name]
    }
    assert set().union(*asked.values()) == of_core_and_worker


@each_service
def test_every_service_is_limited_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert service["pids_limit"] > 0
    assert {"test", "interval", "timeout", "retries"} <= service["healthcheck"].keys()
    assert "latest" not in service.get("image", "")


@each_service
def test_every_service_runs_with_few_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"].partition(":")[0] not in {"root", "0", ""}
    assert service.get("privileged") is None
    # The Neo4j image writes its configuration into its own folder when it starts.
    assert service.get("read_only", False) is (name != "neo4j")


# --- on the installed programs ------------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("redis-broker", {"maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "everysec"}),
        ("redis-cache", {"maxmemory-policy": "allkeys-lru", "appendonly": "no"}),
    ],
)
def test_redis_service(name: str, expected: dict[str, str]) -> None:
    need(("redis-server", "redis-server"), ("redis-cli", "redis-tools"))
    with serving(ComposeRedis(name)) as server:
        with server.client() as client:
            settings = client.config_get("*")
        assert expected.items() <= settings.items()
        assert settings["save"] == ""
        # Where the limit on memory is reached, Redis must act before the container's limit kills it.
        assert 0 < int(settings["maxmemory"]) < size_bytes(SERVICES[name]["mem_limit"])
        port = {"redis-cli": f"redis-cli -p {server.port}"}
        assert run_health_check(name, port, REDISCLI_AUTH=server.password) == 0
        assert run_health_check(name, port, REDISCLI_AUTH="not-the-password") != 0
        server.kill()
        assert run_health_check(name, port, REDISCLI_AUTH=server.password) != 0


@pytest.mark.services
def test_postgres_service() -> None:
    need(("pg_isready", "postgresql-client"))
    service = SERVICES["postgres"]
    values = environment("postgres", {"POSTGRES_PASSWORD": "made-up"})
    program, *options = service["command"]
    assert program == "postgres"
    assert options[::2] == ["-c"] * len(options[1::2])
    made = PostgresServer(
        settings=options[1::2],
        initdb_arguments=[*shlex.split(values["POSTGRES_INITDB_ARGS"]), "--auth-local=scram-sha-256"],
    )
    with serving(made) as server:
        with _connect(server.url) as connection:
            for option in options[1::2]:
                setting, _, value = option.partition("=")
                assert connection.execute(f"SHOW {setting}").fetchone() == (value,)
            assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
            in_byte_order = connection.execute(
                "SELECT v FROM (VALUES ('a'), ('B'), ('é')) t(v) ORDER BY v"
            ).fetchall()
        assert in_byte_order == [("B",), ("a",), ("é",)]
        assert run_health_check("postgres", {}, PGPORT=str(server.port)) == 0
        server.kill()
        assert run_health_check("postgres", {}, PGPORT=str(server.port)) != 0


@pytest.mark.services
def test_neo4j_service() -> None:
    import neo4j

    need(("wget", "wget"))
    values = environment("neo4j", {"NEO4J_PASSWORD": "made-up"})
    assert values.pop("NEO4J_AUTH") == "neo4j/made-up"
    settings = {
        re.sub(r"__|_", lambda m: "." if m[0] == "_" else "_", key.removeprefix("NEO4J_")): text
        for key, text in values.items()
    }
    with serving(Neo4jServer(settings=settings)) as server:
        with server.driver() as driver:
            rows = driver.execute_query(
                "SHOW SETTINGS YIELD name, value, isExplicitlySet WHERE isExplicitlySet RETURN name, value"
            ).records
            public = {key for key in settings if not key.startswith("internal.")}  # others are not shown
            assert public <= {row["name"] for row in rows}
            for source in (f"{server.http_url}/", "file:///etc/hostname"):
                with pytest.raises(neo4j.exceptions.ClientError, match="Cannot load from URL"):
                    driver.execute_query("LOAD CSV FROM $source AS row RETURN row", source=source)
        port = {"7474": str(server.http_port)}
        wait_until(lambda: run_health_check("neo4j", port) == 0, deadline_s=30, what="the HTTP connector")
        server.kill()
        assert run_health_check("neo4j", port) != 0


class ComposeFlower(ServerProcess):
    """Flower started by the command of the Compose service, at a broker and port of its own."""

    name = "flower"
    start_deadline_s = 60.0

    def __init__(self, broker_url: str) -> None:
        super().__init__()
        self.password = "made-up"
        values = environment("flower", {"REDIS_BROKER_PASSWORD": "unused", "FLOWER_PASSWORD": self.password})
        changes = {"GROVE_BROKER_URL": broker_url, "GROVE_HOME": str(self.home)}
        ours = {"FLOWER_ADDRESS": "127.0.0.1", "FLOWER_PORT": str(self.port)}
        self._env = {"PATH": PATH, **values, **changes, **ours}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        return importlib.metadata.version("flower")

    def get(self, path: str, *, password: str | None = None, method: str = "GET") -> tuple[int, str]:
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if password is not None:
            request.add_header(
                "Authorization", f"Basic {base64.b64encode(f'grove:{password}'.encode()).decode()}"
            )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def _prepare(self) -> None:
        pass

    def _command(self) -> list[str]:
        return [interpolated(word, {}) for word in SERVICES["flower"]["command"]]

    def _popen_options(self) -> dict[str, Any]:
        return {"env": self._env, "cwd": ROOT}

    def _probe(self) -> None:
        assert self.get("/healthcheck") == (200, "OK")


@pytest.mark.services
def test_flower_service(tmp_path: Path, redis_url: str) -> None:
    """Tasks are seen without the control channel; nobody gets in without the password, or gives orders."""
    (tmp_path / "home").mkdir()
    settings = settings_in(tmp_path / "home", broker_url=redis_url)
    with (
        serving(ComposeFlower(redis_url)) as server,
        registered(PARTS),
        CeleryWorker(settings, tmp_path / "log") as worker,
        Workspace.open(settings) as workspace,
    ):
        job = client.submit(workspace, "parts", {"numbers": [1, 2]})
        assert job.units == {"done": 3}

        def ended() -> int:
            status, body = server.get("/api/tasks?state=SUCCESS", password=server.password)
            assert status == 200
            return len(json.loads(body))

        wait_until(lambda: ended() == 3, deadline_s=20, what="three tasks in Flower")
        for password in (None, "not-the-password"):
            assert server.get("/api/tasks", password=password)[0] == 401
        (name,) = {task["worker"] for task in tasks_of(server)}
        order = server.get(f"/api/worker/shutdown/{name}", password=server.password, method="POST")
        assert order[0] >= 400
        assert worker.children()
        port = {"5555": str(server.port)}
        assert run_health_check("flower", port) == 0
        server.kill()
        assert run_health_check("flower", port) != 0


def test_flower_does_not_start_without_a_password() -> None:
    command = [interpolated(word, {}) for word in SERVICES["flower"]["command"]]
    for given in ({}, {"FLOWER_PASSWORD": ""}):
        values = environment("flower", {"REDIS_BROKER_PASSWORD": "unused", **given})
        path = {"PATH": "/usr/bin:/bin"}
        ended = subprocess.run(
            command, env=path | values, check=False, capture_output=True, text=True, timeout=30
        )
        assert ended.returncode != 0
        assert "set FLOWER_PASSWORD in .env" in ended.stderr


def tasks_of(server: ComposeFlower) -> list[dict[str, Any]]:
    return list(json.loads(server.get("/api/tasks", password=server.password)[1]).values())


@pytest.mark.services
def test_worker_service(tmp_path: Path, neo4j_clean_url: str, postgres_url: str, redis_url: str) -> None:
    """It makes its schema, works, is healthy while all servers are there, and ends when told to."""
    with serving(ComposeRedis("redis-cache")) as cache:
        servers = {
            "GROVE_GRAPH_URL": neo4j_clean_url,
            "GROVE_DATABASE_URL": postgres_url,
            "GROVE_BROKER_URL": redis_url,
            "GROVE_CACHE_URL": cache.url,
        }
        with composed("worker", tmp_path / "worker", servers) as worker:
            with Workspace.open(Settings.from_env(worker.settings)) as workspace:
                graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
                job = client.submit_ingest(workspace, "trees", graph)
                assert (job.state, job.error) == ("done", None)
                assert workspace.graph.current("trees") == graph.digest
            assert run_health_check("worker", {}, **worker.settings) == 0
            away = {"GROVE_DATABASE_URL": "postgresql+psycopg://grove:made-up@127.0.0.1:1/grove"}
            assert run_health_check("worker", {}, **worker.settings | away) != 0
            worker.stop()  # by the signal that Compose sends, within the time that it grants
            upgraded, *log = worker.log_path.read_text().splitlines()
            assert "is at revision" in upgraded
            told = [json.loads(line) for line in log if line.startswith("{")]  # Celery warns whoever is root
            assert job.id in {known for entry in told for known in entry.get("jobs", [])}


@pytest.mark.services
def test_web_service(tmp_path: Path, neo4j_clean_url: str, postgres_url: str, redis_url: str) -> None:
    """It makes its schema, answers from all servers, is healthy while it can, and ends when told to."""
    with serving(ComposeRedis("redis-cache")) as cache:
        servers = {
            "GROVE_GRAPH_URL": neo4j_clean_url,
            "GROVE_DATABASE_URL": postgres_url,
            "GROVE_BROKER_URL": redis_url,
            "GROVE_CACHE_URL": cache.url,
        }
        with composed("web", tmp_path / "web", servers) as web:
            port = {"8321": str(web.port)}
            assert run_health_check("web", port) == 0
            settings = Settings.from_env(web.settings)
            graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
            with CeleryWorker(settings, tmp_path / "log"), Workspace.open(settings) as workspace:
                job = client.submit_ingest(workspace, "trees", graph)
                assert (job.state, job.error) == ("done", None)
            top = web.url.removesuffix("/readyz")
            with urllib.request.urlopen(f"{top}/v1/ontologies/trees/children?key=tree", timeout=10) as answer:
                assert [one["key"] for one in json.load(answer)["items"]] == ["elm", "oak"]
            query = {"statement": "MATCH (l:Label {version: $version}) RETURN count(l)", "ontology": "trees"}
            asked = urllib.request.Request(
                f"{top}/v1/cypher", json.dumps(query).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(asked, timeout=60) as answer:
                assert json.load(answer)["rows"] == [[3]]
            (measured,) = re.findall(r"metrics at (http://127.0.0.1:\d+/metrics)", web.log_path.read_text())
            with urllib.request.urlopen(measured, timeout=10) as answer:
                assert b'labelgrove_requests_total{method="POST",route="/v1/cypher",status="200"} 1.0' in (
                    answer.read()
                )
            web.stop()
            assert run_health_check("web", port) != 0
            assert "Traceback" not in web.log_path.read_text()


@pytest.mark.parametrize("name", GROVE)
def test_environment_is_understood(name: str) -> None:
    settings = Settings.from_env(environment(name, PASSWORDS))
    ports = (None, 9464) if name == "web" else (9464, None)
    assert (settings.metrics_port, settings.serve_metrics_port) == ports
    assert (settings.log_format, settings.metrics_address) == ("json", "0.0.0.0")
    assert not settings.graph_is_embedded
    reached = [settings.graph_url, settings.database_url, settings.broker_url or "", settings.cache_url or ""]
    assert [urlsplit(url).hostname for url in reached] == CORE
    assert all(urlsplit(url).password for url in reached)
    mounts = [volume.rpartition(":")[2] for volume in SERVICES[name]["volumes"]]
    assert settings.artifacts_url in mounts


@pytest.mark.parametrize("name", GROVE)
def test_image_ends_as_an_ordinary_user(name: str) -> None:
    lines = (ROOT / SERVICES[name]["build"]["dockerfile"]).read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users
    assert users[-1].partition(":")[0] not in {"root", "0"}
    assert not any(re.search("PASSWORD|TOKEN|SECRET", line) for line in lines)
