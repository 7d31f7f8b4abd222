"""Every command under every way in which PostgreSQL refuses: one line that says what to do, no traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import pytest

from labelgrove.cli import grove
from tests.cli.every_command import (
    COMMANDS,
    CONNECTS,
    FILLS,
    NEITHER,
    READS,
    WRITES,
    Deployment,
    error_line,
    filled,
)
from tests.cli.reference import walk
from tests.faults.changing_database import WAYS, ordinary_user, refusing
from tests.services import PostgresServer
from tests.services.postgres_server import create_database, drop_database

pytestmark = [pytest.mark.services, pytest.mark.long]

REFUSED: Mapping[str, tuple[str, ...]] = {
    "read-only": (WRITES,),
    "canceled": (WRITES, READS, FILLS),
    "held": (WRITES, READS, FILLS),
    "without tables": (WRITES, READS),
    "without rights": (WRITES, READS, FILLS, CONNECTS),
    "without room": (WRITES, READS, FILLS, CONNECTS),
    "without a password": (WRITES, READS, FILLS, CONNECTS),
}


@pytest.fixture(scope="module")
def admin_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a database for the tests of this module."""
    server_url = os.environ.get("GROVE_TEST_POSTGRES_URL")
    if server_url is None:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        server.start()
        server_url = server.url
    url = create_database(server_url)
    yield url
    drop_database(url, server_url=server_url)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, admin_url: str) -> Iterator[Deployment]:
    with (
        ordinary_user(admin_url) as user_url,
        filled(tmp_path_factory.mktemp("refused"), user_url) as deployment,
    ):
        yield deployment


def test_every_command_is_in_the_table():
    walked = {" ".join(path[1:]) for path, command in walk(grove) if not hasattr(command, "commands")}
    assert walked == {*COMMANDS, "serve", "warm", "worker"}


@pytest.mark.parametrize("name", WAYS)
def test_a_refusal_is_one_line_with_the_next_step(name, deployment, admin_url, tmp_path):
    way = WAYS[name]
    code = 1 if "schema" in way.told else 5
    with refusing(way, admin_url, deployment.database_url):
        for command, (does, _) in COMMANDS.items():
            if does in REFUSED[name]:
                line = error_line(command, deployment.run(command, tmp_path), code)
                assert way.told in line, (command, line)
                assert line.startswith("error: database postgresql+psycopg://") or command == "doctor"


def test_what_only_reads_works_on_a_standby_and_what_needs_no_database_without_any(
    deployment, admin_url, tmp_path
):
    for name, kinds in (("read-only", (READS, CONNECTS, NEITHER)), ("without a password", (NEITHER,))):
        with refusing(WAYS[name], admin_url, deployment.database_url):
            for command, (does, _) in COMMANDS.items():
                if does in kinds:
                    result = deployment.run(command, tmp_path)
                    assert result.exit_code == 0, (command, result.output, result.exc_info)
