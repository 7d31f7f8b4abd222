"""Units of systemd: commands, limits and times of Compose, and no right that nobody needs."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.deployment import systemd
from tests.deployment.compose import PARTS, ROOT, part
from tests.deployment.systemd import ENVIRONMENT, PREFIX

PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
FILES = systemd.files()
SERVICES = [name for name in FILES if name.endswith(".service")]

each_part = pytest.mark.parametrize("name", PARTS)


def entries(name: str) -> dict[str, list[str]]:
    """Return the values of each entry of a unit."""
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", FILES[name], re.M):
        found.setdefault(key, []).append(value)
    return found


@each_part
def test_commands_limits_and_times_are_those_of_compose(name):
    one, unit = part(name), entries(f"labelgrove-{name}.service")
    (command,) = unit["ExecStart"]
    expected = [word for word in one.command if word not in ("--host", "0.0.0.0")]
    assert shlex.split(command) == [f"{PREFIX}/{expected[0]}", *expected[1:]]
    assert unit["MemoryMax"] == [f"{one.memory_bytes // 2**20}M"]
    assert unit["TasksMax"] == [str(one.processes)]
    assert unit["TimeoutStopSec"] == [str(one.grace_s)]
    assert unit["KillMode"] == ["mixed"]


def test_the_schema_is_upgraded_before_anything_else_begins():
    assert entries("labelgrove-migrate.service")["ExecStart"] == [f"{PREFIX}/grove db upgrade"]
    for name in PARTS:
        unit = entries(f"labelgrove-{name}.service")
        assert "labelgrove-migrate.service" in unit["After"][0].split()
        assert "labelgrove-migrate.service" in unit["Wants"][0].split()


@pytest.mark.parametrize("name", SERVICES)
def test_every_unit_belongs_to_the_target_and_reads_the_documented_environment(name):
    unit = entries(name)
    assert unit["PartOf"] == unit["WantedBy"] == ["labelgrove.target"]
    assert unit["EnvironmentFile"] == [ENVIRONMENT]
    assert ENVIRONMENT in PAGE
    assert not [line for line in unit["Environment"] if "_URL" in line]
    assert unit["Restart"] == ["on-failure"]


def test_parts_of_one_host_take_different_ports():
    lines = [line for name in SERVICES for line in entries(name)["Environment"] if "_PORT=" in line]
    ports = {line.partition("_PORT=")[2] for line in lines}
    assert len(lines) == len(ports) == 3
