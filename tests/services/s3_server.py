"""An S3 server on a loopback port: that of moto, which keeps objects in memory."""

from __future__ import annotations

import http.client
import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

from tests.services.process import ServerProcess, ServiceMissingError

__all__ = ["S3Server"]


class S3Server(ServerProcess):
    """An S3 server for artifact stores; `kill` and `stop` delete its objects."""

    name = "s3"
    start_deadline_s = 30.0

    def __init__(self, home: Path | None = None) -> None:
        super().__init__(home)
        self.environment = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "AKIALABELGROVETESTS0",
            "AWS_SECRET_ACCESS_KEY": "canary-secret-of-the-s3-tests",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        """Environment variables for clients of this server, which accepts any credentials."""

    @property
    def url(self) -> str:
        """The URL of the endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        """The version of moto."""
        return version("moto")

    def make_bucket(self, name: str) -> None:
        """Create an empty bucket."""
        self._ask("PUT", f"/{name}")

    def _prepare(self) -> None:
        if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask_cors") is None:
            raise ServiceMissingError("moto and its server are not installed: pip install -e '.[dev]'")

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def _probe(self) -> None:
        self._ask("GET", "/moto-api/data.json")

    def _ask(self, method: str, path: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path)
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != 200:
            raise RuntimeError(f"{method} {path}: status {status}")
