"""Passwords that nobody may ever read: searched for in everything that commands and workers write."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.logs import configure_logging
from tests.conftest import serving
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import PARTS, registered
from tests.services import PostgresServer, RedisServer, wait_until

pytestmark = pytest.mark.services

SECRET = re.compile(r"canary-\w+")
NOWHERE = {
    "GROVE_BROKER_URL": "redis://:canary-broker@127.0.0.1:1/0",
    "GROVE_CACHE_URL": "redis://user:canary-cache@127.0.0.1:1/0",
    "GROVE_DATABASE_URL": "postgresql+psycopg://grove:canary-database@127.0.0.1:1/grove",
    "GROVE_GRAPH_URL": "bolt://neo4j:canary-graph@127.0.0.1:1",
    "GROVE_ARTIFACTS_URL": "ftp://user:canary-artifacts@127.0.0.1:1/artifacts",
}
COMMANDS = (
    ("doctor",),
    ("doctor", "--json"),
    ("ontology", "list", "--json"),
    ("jobs", "list", "--json"),
    ("jobs", "submit", "bundle", "--param", "ontology=garden", "--json"),
    ("db", "upgrade"),
    ("graph", "verify", "--json"),
    ("worker", "--log-format", "json", "--metrics-port", "0"),
)


@pytest.fixture
def written(caplog, monkeypatch):
    """Everything that the commands of a test print, raise or log, tracebacks included."""
    texts: list[str] = []

    def run(*arguments: str, **env: str) -> str:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            result = CliRunner().invoke(grove, arguments)
        raised = result.exc_info[1] if result.exc_info else None
        assert raised is None or isinstance(raised, SystemExit), (arguments, result.exc_info)
        texts.append(result.output + caplog.text)
        return texts[-1]

    yield run
    assert texts
    assert SECRET.findall("\n".join(texts)) == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_servers_that_are_away(command, written):
    assert written(*command, **NOWHERE)


@pytest.mark.parametrize("name", sorted(NOWHERE))
@pytest.mark.parametrize("form", ["{scheme}://[{rest}", "{scheme}://{rest}:port/x", "no+{scheme}://{rest}"])
def test_urls_that_are_malformed(name, form, written):
    scheme, _, rest = NOWHERE[name].partition("://")
    broker = {"GROVE_BROKER_URL": NOWHERE["GROVE_BROKER_URL"]}  # without one, a worker would begin to work
    given = broker | {name: form.format(scheme=scheme, rest=rest)}
    written("doctor", **given)
    written("worker", "--log-format", "json", **given)


def test_wrong_passwords(written, redis_url, postgres_url, neo4j_url):
    def wrong(url: str) -> str:
        return re.sub(r":[^:/@]*@", ":canary-wrong@", url, count=1)

    shown = written(
        "doctor",
        GROVE_BROKER_URL=wrong(redis_url),
        GROVE_CACHE_URL=wrong(redis_url),
        GROVE_GRAPH_URL=wrong(neo4j_url),
        GROVE_DATABASE_URL=wrong(postgres_url),
    )
    assert "***" in shown
    written("jobs", "list")
    written("worker", "--log-format", "json")


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_formats_hide_what_a_traceback_shows(log_format, tmp_path, monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    configure_logging(log_format, file=tmp_path / "log")
    logger = logging.getLogger("labelgrove.canary")
    url = NOWHERE["GROVE_DATABASE_URL"]
    try:
        raise ValueError(f"no route to {url}")
    except ValueError:
        logger.exception("cannot reach %s or %r", url, {"broker": NOWHERE["GROVE_BROKER_URL"]})
    logging.captureWarnings(False)
    root.handlers[0].close()
    text = (tmp_path / "log").read_text()
    assert text.count("***") == 3
    assert SECRET.findall(text) == []


def test_a_worker_whose_servers_fail_under_it(tmp_path: Path):
    """Real passwords, a broker and a database that die: the log at its most talkative."""
    broker = RedisServer()
    broker.password = "canary-redis"
    with serving(broker), serving(PostgresServer()) as database:
        settings = Settings(
            home=tmp_path / "home",
            graph_url=NOWHERE["GROVE_GRAPH_URL"],
            database_url=database.url,
            artifacts_url=str(tmp_path / "artifacts"),
            broker_url=broker.url,
            cache_url=NOWHERE["GROVE_CACHE_URL"],
            log_format="json",
        )
        engine = create_engine(settings.database_url)
        upgrade(engine)
        engine.dispose()
        options = ["--loglevel=DEBUG"]
        with (
            registered(PARTS),
            Workspace.open(settings) as workspace,
            CeleryWorker(settings, tmp_path / "log", options=options) as worker,
        ):
            job = client.submit(workspace, "parts", {"numbers": [1]})
            assert job.state is State.DONE
            broker.kill()
            wait_until(lambda: "Cannot connect to " in worker.text(), deadline_s=30, what="a retry")
            database.kill()
            wait_until(lambda: '"sweep: database' in worker.text(), deadline_s=30, what="a sweep without SQL")
            text = worker.text()
    assert SECRET.findall(text) == []
    assert "***" in text
    assert database.password not in text
