"""The installed nginx with a configuration of ours, but for ports and files."""

from __future__ import annotations

import contextlib
import http.client
import re
import ssl
import subprocess
from abc import abstractmethod
from email.message import Message
from pathlib import Path
from typing import ClassVar, NamedTuple

from tests.services import ServerProcess
from tests.services.process import find_program

__all__ = ["PUBLIC", "Nginx"]

PUBLIC = "labels.example.org"


class Answer(NamedTuple):
    """An answer that was read whole."""

    status: int
    headers: Message
    text: str


class Nginx(ServerProcess):
    """nginx in a folder of its own, with a certificate for `PUBLIC`.

    Parameters
    ----------
    configuration : str
        As it stands in the repository; `_changes` names what differs here.
    """

    name = "nginx"
    known: ClassVar[dict[str, str]] = {}
    """Headers of every request."""

    def __init__(self, configuration: str) -> None:
        super().__init__()
        self._configuration = configuration
        self.certificate, self.key = self.home / "certificate.pem", self.home / "key.pem"

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        return subprocess.run([self._program, "-v"], capture_output=True, text=True, check=True).stderr

    @property
    def _program(self) -> str:
        return str(find_program("nginx", package="nginx-light", folders=[Path("/usr/sbin")]))

    @abstractmethod
    def _changes(self) -> dict[str, str]:
        """Return the ports and files of this test by what stands in their place."""

    def _whole(self, changed: str) -> str:
        return changed

    def _prepare(self) -> None:
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-subj", f"/CN={PUBLIC}", "-addext", f"subjectAltName=DNS:{PUBLIC}"),
                *("-keyout", str(self.key), "-out", str(self.certificate)),
            ],
            check=True,
            capture_output=True,
        )
        changes = self._changes()
        assert all(old in self._configuration for old in changes)
        changed = re.sub(
            "|".join(map(re.escape, changes)), lambda found: changes[found[0]], self._configuration
        )
        (self.home / "nginx.conf").write_text(self._whole(changed))

    def _command(self) -> list[str]:
        return [self._program, "-p", str(self.home), "-c", str(self.home / "nginx.conf")]

    def _probe(self) -> None:
        assert self.ask("GET", "/healthz").status == 200

    @property
    def said(self) -> str:
        return (self.home / "error.log").read_text()

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection that trusts the certificate and names the public host."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        context.check_hostname = False  # the address is this machine's
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=60)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Return an answer, read whole."""
        sent = {"Host": PUBLIC} | self.known | {k.replace("_", "-"): v for k, v in headers.items()}
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
