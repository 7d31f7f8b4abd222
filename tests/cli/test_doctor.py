"""`grove doctor` where settings are malformed, passwords wrong, or nobody works."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.running.presence import Presence
from labelgrove.workers.schedules.schedule import add_schedule
from tests.integration.workers_support import PARTS, registered


@pytest.fixture
def findings(monkeypatch):
    """Run doctor with these variables; gives its rows by part."""

    def run(code: int = 0, **env: str) -> dict[str, dict]:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        result = CliRunner().invoke(grove, ["doctor", "--json"])
        assert result.exit_code == code, (result.output, result.exception)
        return {part["part"]: part for part in json.loads(result.stdout)["parts"]}

    return run


def wrong(found: dict[str, dict]) -> set[str]:
    return {name for name, part in found.items() if part["ok"] is False}


# ---- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "value", "said", "rows"),
    [
        (
            "GROVE_DATABASE_URL",
            "mysql://u:hunter2@h/d",
            "must start with one of sqlite",
            {"database", "graph"},
        ),
        ("GROVE_GRAPH_URL", "ftp://u:hunter2@h", "must start with one of embedded", {"graph"}),
        ("GROVE_BROKER_URL", "amqp://u:hunter2@h", "must start with one of redis", {"workers"}),
        ("GROVE_CACHE_URL", "http://u:hunter2@h", "must start with one of redis", {"cache"}),
        ("GROVE_METRICS_PORT", "many", "is not a whole number", {"settings"}),
        ("GROVE_LOG_FORMAT", "xml", "must be one of text, json", {"settings"}),
        ("GROVE_OFFLINE", "yes", "must be 0 or 1; 1 means: use only the cache", {"settings"}),
    ],
)
def test_a_variable_that_breaks_its_rule_is_a_row_and_the_rest_is_looked_at(
    findings, variable, value, said, rows
):
    found = findings(1, **{variable: value})
    assert wrong(found) == rows
    details = [found[name]["detail"] for name in rows]
    assert any(said in detail and variable in detail for detail in details)
    assert all(said in detail or f"depends on {variable}" in detail for detail in details)
    assert "hunter2" not in json.dumps(found)


def test_the_default_is_not_made_for_a_variable_that_is_malformed(findings, tmp_path):
    home = tmp_path / "untouched"
    findings(1, GROVE_HOME=str(home), GROVE_DATABASE_URL="mysql://h/d", GROVE_ARTIFACTS_URL="memory://x")
    assert not (home / "catalog.db").exists()
    assert not (home / "graph").exists()


def test_a_secrets_file_that_cannot_be_read_is_a_row_and_the_home_ends_it(findings, monkeypatch, tmp_path):
    found = findings(1, GROVE_DATABASE_URL_FILE=str(tmp_path / "gone"))
    assert "GROVE_DATABASE_URL_FILE: cannot read" in found["database"]["detail"]
    monkeypatch.setenv("GROVE_HOME", "/\udcff")
    result = CliRunner().invoke(grove, ["doctor"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "GROVE_HOME" in result.stderr


# ---- artifacts ---------------------------------------------------------------------------------------


def test_a_folder_of_artifacts_that_is_not_there_is_not_made(findings, tmp_path):
    folder = tmp_path / "none" / "yet"
    found = findings(GROVE_ARTIFACTS_URL=str(folder))
    assert found["artifacts"]["ok"] is True
    assert "the first ingest makes it" in found["artifacts"]["detail"]
    assert not folder.parent.exists()
    (tmp_path / "a file").touch()
    barred = findings(1, GROVE_ARTIFACTS_URL=str(tmp_path / "a file" / "below"))
    assert wrong(barred) == {"artifacts"}
    assert "cannot be made" in barred["artifacts"]["detail"]


@pytest.mark.parametrize("content", [None, b"other"])
def test_a_store_without_anything_of_the_catalog_is_asked_about_and_the_graph_is_not_blamed(
    findings, tmp_path, content
):
    (tmp_path / "garden.csv").write_text("child,parent\noak,tree\n")
    assert CliRunner().invoke(grove, ["ingest", "garden", str(tmp_path / "garden.csv")]).exit_code == 0
    assert findings()["artifacts"]["detail"] == "written, read back, deleted"
    folder = tmp_path / "elsewhere"
    if content is not None:
        open_store(str(folder)).put_bytes(content)
    found = findings(1, GROVE_ARTIFACTS_URL=str(folder))
    assert wrong(found) == {"artifacts"}
    empty = "this store is empty, but the catalog knows 1 ontology: "
    assert found["artifacts"]["detail"].startswith(empty) == (content is None)
    assert "is GROVE_ARTIFACTS_URL the right folder?" in found["artifacts"]["detail"]
    assert "the row `artifacts` says why" in found["graph"]["detail"]
    assert folder.exists() == (content is not None)


# ---- workers -------------------------------------------------------------------------------------------


def test_living_workers_are_counted_and_their_lack_is_noted_where_somebody_needs_them(findings):
    assert findings()["living workers"]["ok"] is True
    with registered(PARTS), Workspace.open() as workspace:
        add_schedule(workspace, "often", "* * * * *", "parts", {"numbers": [1]})
        lacking = findings()["living workers"]
        assert lacking["ok"] is None
        assert "no schedule submits jobs; start one: grove worker" in lacking["detail"]
        presence = Presence(slots=3)
        presence.tell(workspace.engine)
        found = findings()["living workers"]
        assert found["ok"] is True
        assert found["detail"] == f"1, for 3 units at a time: {presence.name}"
        presence.leave(workspace.engine)
        sweeper = Presence(slots=0)
        sweeper.tell(workspace.engine)
        lacking = findings()["living workers"]
        assert lacking["ok"] is None
        assert "only a sweeper is alive" in lacking["detail"]
        sweeper.leave(workspace.engine)
    assert findings()["living workers"]["ok"] is None


def test_a_worker_not_heard_of_for_a_minute_does_not_count(findings):
    import sqlalchemy as sa

    from labelgrove.ontology.sql.database import writing
    from labelgrove.workers.ledger.schema import worker_table
    from labelgrove.workers.running.presence import LIVING_S, living

    with Workspace.open() as workspace:
        Presence(slots=1).tell(workspace.engine)
        (found,) = living(workspace.engine)
        assert 0 <= found.silent_s < 30
        with writing(workspace.engine) as connection:
            connection.execute(sa.update(worker_table).values(seen_at=worker_table.c.seen_at - LIVING_S))
        assert living(workspace.engine) == []


@pytest.mark.services
def test_a_broker_without_workers_is_noted(findings, redis_url, neo4j_url):
    found = findings(GROVE_BROKER_URL=redis_url, GROVE_GRAPH_URL=neo4j_url)
    assert found["living workers"]["ok"] is None
    assert "jobs wait; start one: grove worker" in found["living workers"]["detail"]


# ---- what a server refuses -----------------------------------------------------------------------------


def with_wrong_password(url: str) -> str:
    return re.sub(r":[^:/@]*@", ":canary@", url, count=1)


@pytest.mark.services
def test_a_password_that_is_wrong_is_called_wrong(findings, postgres_url, redis_url):
    found = findings(
        5,
        GROVE_DATABASE_URL=with_wrong_password(postgres_url),
        GROVE_CACHE_URL=with_wrong_password(redis_url),
    )
    for part, variable in (("database", "GROVE_DATABASE_URL"), ("cache", "GROVE_CACHE_URL")):
        assert f"user or password is wrong; {variable} holds both" in found[part]["detail"]
    assert "canary" not in json.dumps(found)


@pytest.mark.services
def test_a_brokers_password_that_is_wrong_is_called_wrong(findings, redis_url):
    from labelgrove.ontology.errors import ServiceError
    from labelgrove.workers.celery_transport.broker_check import check_broker

    for url in (with_wrong_password(redis_url), re.sub(r"//.*@", "//", redis_url)):
        with pytest.raises(ServiceError, match="password is wrong; GROVE_BROKER_URL holds both"):
            check_broker(url)


@pytest.mark.services
def test_a_database_that_takes_no_writes_is_wrong(findings, postgres_url):
    from tests.faults.changing_database import WAYS, ordinary_user, refusing

    engine = create_engine(postgres_url)
    upgrade(engine)
    engine.dispose()
    with ordinary_user(postgres_url) as url:
        assert findings(GROVE_DATABASE_URL=url)["database"]["ok"] is True
        with refusing(WAYS["read-only"], postgres_url, url):
            found = findings(5)["database"]
        assert (found["ok"], found["reachable"]) == (False, False)
        assert "it takes no writes for now" in found["detail"]
