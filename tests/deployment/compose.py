"""Read docker-compose.yml: its services as they stand there, and what each part of labelgrove needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["PARTS", "ROOT", "SERVICES", "Part", "environment", "interpolated", "part", "size_bytes", "words"]

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

PARTS = ("web", "worker", "sweeper")
"""The services that Kubernetes and systemd run too; there, the user provides the database servers."""

_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def interpolated(text: str, values: dict[str, str]) -> str:
    """Put values for variables as Compose does: ``${X:?message}``, ``${X:-default}``, ``$$`` for ``$``."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if match["rule"] == ":-":
            return values.get(match["name"], match["rest"])
        return values[match["name"]]

    return re.sub(r"\$\$|\$\{(?P<name>\w+)(?P<rule>:[-?])(?P<rest>[^}]*)\}", value, text)


def environment(name: str, values: dict[str, str]) -> dict[str, str]:
    """Return the environment of a service, with values in the place of variables."""
    return {
        key: interpolated(str(text), values) for key, text in SERVICES[name].get("environment", {}).items()
    }


def words(name: str, entry: str) -> list[str]:
    """Return the words of an entry such as ``command``; an empty list if the service has no such entry."""
    return [interpolated(word, {}) for word in SERVICES[name].get(entry, [])]


def size_bytes(limit: str) -> int:
    """Return the bytes of a limit such as ``4g``."""
    return int(limit[:-1]) * _UNITS[limit[-1]]


@dataclass(frozen=True)
class Part:
    """A process of labelgrove as the Compose file runs it.

    Attributes
    ----------
    name : str
    command : list of str
        Without the entry point, which migrates.
    settings : dict
        Variables that may be read by anybody.
    secrets : list of str
        Names of the variables that have a password in them.
    memory_bytes, tmp_bytes, processes, grace_s : int
        Limits of memory, of ``/tmp`` and of processes and threads; seconds between SIGTERM and SIGKILL.
    port : int or None
        Where it answers HTTP.
    user, group : int
    """

    name: str
    command: list[str]
    settings: dict[str, str]
    secrets: list[str]
    memory_bytes: int
    tmp_bytes: int
    processes: int
    grace_s: int
    port: int | None
    user: int
    group: int


def part(name: str) -> Part:
    """Return one of `PARTS`."""
    service = SERVICES[name]
    given = {key: str(text) for key, text in service["environment"].items()}
    secrets = [key for key, text in given.items() if "_PASSWORD" in text]
    (tmp,) = (mount for mount in service["tmpfs"] if mount.startswith("/tmp:"))
    (size,) = re.findall(r"size=(\w+)", tmp)
    user, _, group = interpolated(service["user"], {}).partition(":")
    (port,) = [int(each.rpartition(":")[2]) for each in service.get("ports", [])] or [None]
    return Part(
        name=name,
        command=words(name, "command"),
        settings={key: interpolated(text, {}) for key, text in given.items() if key not in secrets},
        secrets=secrets,
        memory_bytes=size_bytes(service["mem_limit"]),
        tmp_bytes=size_bytes(size),
        processes=service["pids_limit"],
        grace_s=int(service["stop_grace_period"].removesuffix("s")),
        port=port,
        user=int(user),
        group=int(group),
    )
