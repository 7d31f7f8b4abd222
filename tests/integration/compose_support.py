"""Services of docker-compose.yml, and `grove` as a deployment runs it, started on this machine for tests."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.conftest import unavailable
from tests.deployment.compose import SERVICES, environment, interpolated
from tests.deployment.compose import words as words_of
from tests.services import RedisServer, ServerProcess, ServiceMissingError
from tests.services.process import find_program

PASSWORDS = {
    f"{name}_PASSWORD": name.lower() for name in ("NEO4J", "POSTGRES", "REDIS_BROKER", "REDIS_CACHE")
}
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


def run_health_check(name: str, changes: dict[str, str], **env: str) -> int:
    """Run the service's health check with its fixed port changed to that of the running server."""
    kind, *words = SERVICES[name]["healthcheck"]["test"]
    words = [interpolated(word, {}) for word in words]
    for old, new in changes.items():
        assert any(old in word for word in words)
        words = [word.replace(old, new) for word in words]
    command = {"CMD-SHELL": ["sh", "-c", *words], "CMD": words}[kind]
    return subprocess.run(
        command, env={"PATH": PATH} | env, check=False, timeout=30, stderr=subprocess.DEVNULL
    ).returncode


def need(*programs: tuple[str, str]) -> None:
    for program, package in programs:
        try:
            find_program(program, package=package)
        except ServiceMissingError as error:
            unavailable(str(error))


class ComposeRedis(RedisServer):
    """Redis, started by the shell line of the Compose service with a folder and a port added."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._env = environment(service, {f"{service.upper().replace('-', '_')}_PASSWORD": self.password})
        self._shell, self._option, self._script = SERVICES[service]["command"]

    def _command(self) -> list[str]:
        ours = f" --bind 127.0.0.1 --port {self.port} --dir {shlex.quote(str(self.home))}"
        return [self._shell, self._option, interpolated(self._script, {}) + ours]

    def _popen_options(self) -> dict[str, Any]:
        return {"env": {"PATH": "/usr/local/bin:/usr/bin:/bin", **self._env}}


class DeployedGrove(ServerProcess):
    """A part of labelgrove with the command line and environment of its deployment.

    Its servers, folders and ports are those of the test, and it listens on loopback as all servers of tests
    do: in a container it has an address of its own, here it would be open to the network of this machine.

    Parameters
    ----------
    name : str
    home : Path
    command : list of str
    settings : dict
        The environment that the deployment gives it.
    servers : dict
        The variables that name the servers of the test.
    stop_deadline_s : float
        Seconds that the deployment gives it to end.

    Attributes
    ----------
    words : list of str
        The command line, with the address and port of the test.
    settings : dict
        The environment, with what is of the test.
    """

    def __init__(
        self,
        name: str,
        home: Path,
        *,
        command: list[str],
        settings: dict[str, str],
        servers: dict[str, str],
        stop_deadline_s: float,
    ) -> None:
        super().__init__(home)
        self.name, self.stop_deadline_s = name, stop_deadline_s
        self.log_path = home / f"{name}.log"
        self.settings = settings | {"GROVE_HOME": str(home / "grove")} | servers
        if "GROVE_METRICS_PORT" in settings:
            self.settings |= {"GROVE_METRICS_PORT": str(self.port), "GROVE_METRICS_ADDRESS": "127.0.0.1"}
        if "GROVE_SERVE_METRICS_PORT" in settings:
            self.settings |= {"GROVE_SERVE_METRICS_PORT": "0", "GROVE_METRICS_ADDRESS": "127.0.0.1"}
        self.settings.pop("NUMBA_CACHE_DIR", None)  # what this machine compiled before
        self._env = {"PATH": PATH, **self.settings}
        self.words = command
        if "serve" in command:
            here = [{"0.0.0.0": "127.0.0.1"}.get(word, word) for word in command]
            self.words = [*here, "--port", str(self.port)]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.address}/{'readyz' if 'serve' in self.words else 'metrics'}"

    @property
    def version(self) -> str:
        return importlib.metadata.version("labelgrove")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run another command to its end, in the same environment."""
        return subprocess.run(
            command, env=self._env, cwd=self.home, capture_output=True, text=True, timeout=120, check=False
        )

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return the status and the document of an answer."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.address}{path}", data, {"Content-Type": "application/json"} | sent
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def _prepare(self) -> None:
        pass

    def _command(self) -> list[str]:
        return self.words

    def _popen_options(self) -> dict[str, Any]:
        return {"env": self._env, "cwd": self.home}

    def _probe(self) -> None:
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            assert answer.status == 200


def composed(name: str, home: Path, servers: dict[str, str]) -> DeployedGrove:
    """Return a part as its Compose service runs it."""
    return DeployedGrove(
        name,
        home,
        command=words_of(name, "entrypoint") + words_of(name, "command"),
        settings=environment(name, PASSWORDS),
        servers={"GROVE_ARTIFACTS_URL": str(home.parent / "artifacts")} | servers,
        stop_deadline_s=float(SERVICES[name]["stop_grace_period"].removesuffix("s")),
    )
