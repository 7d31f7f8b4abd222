"""A real Neo4j Community server from its published Java artifacts; it needs only a JDK and Maven."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from tests.services.process import (
    ServerProcess,
    ServiceError,
    ServiceMissingError,
    ServiceStartError,
    announce,
    find_program,
    free_port,
    run_tool,
)

__all__ = ["Neo4jServer", "fetch_jars", "pinned_version"]

_POM = Path(__file__).with_name("pom.xml")
_MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
_ADMIN_CLASS = "org.neo4j.cli.AdminTool"
_USER = "neo4j"

# The options of the distribution's own start script, without its heap tuning. Off-heap buffers and netty need
# access to these packages.
_JVM_OPTIONS = (
    "-Xms128m",
    "-Xmx768m",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
)

# Optimizing for long runs costs more at the start than it gains in a test.
_QUICK_START = "-XX:TieredStopAtLevel=1"

_UNTRIED_S = 86_400.0
"""Seconds before a failed recording of classes is tried again."""

_SETTINGS = {
    "server.memory.pagecache.size": "256m",
    "db.tx_log.preallocate": "false",
    "dbms.usage_report.enabled": "false",
    # Bolt waits this long, twice, for late connections at shutdown (default 5 s), when data are already safe.
    "internal.dbms.bolt.netty_server_shutdown_quiet_period": "0",
    # A busy server sends a sign of life this often (default 1 m). After twice this time without one, clients
    # consider the connection dead.
    "server.bolt.connection_keep_alive": "3s",
}


def pinned_version() -> str:
    """Return the version of Neo4j that pom.xml pins."""
    return ElementTree.parse(_POM).getroot().findtext(".//{*}neo4j.version", "").strip()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelgrove-neo4j"


@contextmanager
def _taking_turns(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce("neo4j: another session prepares the same; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch_jars() -> Path:
    """Return the folder with the server's jars; the first call on a machine fetches about 120 MB.

    Notes
    -----
    A lock prevents two sessions from fetching at the same time. The folder gets its final name by one rename,
    so it is always complete under that name.
    """
    cache = _cache()
    jars = cache / pinned_version()
    if jars.is_dir():
        return jars
    maven = find_program("mvn", package="maven")
    with _taking_turns(cache / "fetch.lock"):
        if jars.is_dir():
            return jars
        announce(
            f"neo4j: fetching version {jars.name} from Maven Central, about 120 MB, once on this machine"
        )
        partial = Path(tempfile.mkdtemp(prefix=f".{jars.name}-", dir=cache))
        try:
            run_tool(
                [
                    *(maven, "-B", "-q", "--strict-checksums", "-f", _POM),
                    *(
                        "dependency:copy-dependencies",
                        "-DincludeScope=runtime",
                        f"-DoutputDirectory={partial}",
                    ),
                ],
                deadline_s=600,
            )
            partial.chmod(0o755)
            partial.rename(jars)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return jars


class Neo4jServer(ServerProcess):
    """A Neo4j Community server on free loopback ports.

    Parameters
    ----------
    home : Path, optional
        The home folder of Neo4j; a temporary one by default.
    settings : mapping of str to str, optional
        Configuration keys and values, which replace the small-footprint defaults. Listen addresses cannot be
        changed.
    auth : bool
        Whether clients must log in, with a random password of this server.
    sustained : bool
        Whether the server will work hard for minutes, as in benchmarks. The JVM then optimizes fully, and a
        start takes half as long again.

    Examples
    --------
    >>> with Neo4jServer() as server:  # doctest: +SKIP
    ...     server.kill()
    ...     server.start()
    """

    name = "neo4j"
    start_deadline_s = 120.0

    def __init__(
        self,
        home: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        auth: bool = True,
        sustained: bool = False,
    ) -> None:
        super().__init__(home)
        self._jvm_options = [*_JVM_OPTIONS, *([] if sustained else [_QUICK_START])]
        self.http_port = free_port()
        self.auth = auth
        self.password = secrets.token_hex(12)
        self._settings = dict(settings or {})

    @property
    def address(self) -> str:
        """The Bolt address without credentials, as the driver expects it."""
        return f"bolt://127.0.0.1:{self.port}"

    @property
    def http_url(self) -> str:
        """The address of the HTTP connector."""
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def url(self) -> str:
        """The Bolt address, with user and password if `auth` is set."""
        return f"bolt://{_USER}:{self.password}@127.0.0.1:{self.port}" if self.auth else self.address

    @property
    def version(self) -> str:
        """The version and edition that the server reports."""
        with self.driver() as driver:
            record = driver.execute_query(
                "CALL dbms.components() YIELD versions, edition RETURN versions[0] AS version, edition",
                database_="neo4j",
            ).records[0]
        return f"{record['version']} {record['edition']}"

    def driver(self):
        """Return a new driver for this server; the caller closes it."""
        import neo4j

        return neo4j.GraphDatabase.driver(self.address, auth=(_USER, self.password) if self.auth else None)

    def _prepare(self) -> None:
        self._java = find_program("java", package="openjdk-17-jdk-headless")
        java_version = _require_java(self._java)
        self._jars = fetch_jars()
        self._jvm_options += self._class_sharing(java_version)
        for folder in ("conf", "data", "logs", "run", "import", "plugins"):
            (self.home / folder).mkdir(exist_ok=True)
        settings = {
            **_SETTINGS,
            **self._settings,
            "dbms.security.auth_enabled": str(self.auth).lower(),
            "server.default_listen_address": "127.0.0.1",
            "server.bolt.listen_address": f"127.0.0.1:{self.port}",
            "server.http.listen_address": f"127.0.0.1:{self.http_port}",
        }
        lines = (f"{key}={value}\n" for key, value in sorted(settings.items()))
        (self.home / "conf" / "neo4j.conf").write_text("".join(lines))
        password_file = self.home / "password"
        if not self.auth:
            return
        if password_file.exists():  # keep the password of a home that was used before
            self.password = password_file.read_text()
            return
        password_file.touch(mode=0o600)
        password_file.write_text(self.password)
        run_tool(
            [
                self._java,
                *self._jvm_options,
                "-cp",
                f"{self._jars}/*",
                _ADMIN_CLASS,
                "dbms",
                "set-initial-password",
                self.password,
            ],
            deadline_s=60,
            env={**os.environ, "NEO4J_HOME": str(self.home), "NEO4J_CONF": str(self.home / "conf")},
        )

    def _class_sharing(self, java_version: str) -> list[str]:
        """Return the option that maps an archive of the server's classes; record the archive on first use.

        The archive halves the work of a start. A JVM ignores the archive of another JVM, with a line in the
        log. If recording fails or takes too long, the server starts without an archive, and recording is not
        tried again for a day.
        """
        archive = self._jars.with_name(f"{self._jars.name}-java-{java_version}.jsa")
        with _taking_turns(archive.with_suffix(".lock")):
            failed = archive.with_suffix(".failed")
            if not archive.exists() and not _is_younger(failed, _UNTRIED_S):
                announce("neo4j: recording the classes it loads, once on this machine, to start faster later")
                if _recorded(archive):
                    failed.unlink(missing_ok=True)
                else:
                    failed.touch()
                    announce("neo4j: that did not work, or not in time; it starts without")
        return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []

    def _command(self) -> list[str]:
        return [
            str(self._java),
            *self._jvm_options,
            "-cp",
            f"{self._jars}/*",
            _MAIN_CLASS,
            f"--home-dir={self.home}",
            f"--config-dir={self.home / 'conf'}",
            "--console-mode",  # otherwise the server closes its standard output, and the log stays empty
        ]

    def _probe(self) -> None:
        with self.driver() as driver:
            driver.verify_connectivity()
            driver.execute_query(
                "RETURN 1", database_="neo4j"
            )  # Bolt answers slightly earlier than the database


class _Recorder(Neo4jServer):
    """A server that writes an archive of its loaded classes to a file when it ends."""

    start_deadline_s = stop_deadline_s = 90.0

    def __init__(self, path: Path) -> None:
        super().__init__(auth=False)
        self._path = path

    def _class_sharing(self, java_version: str) -> list[str]:
        return [f"-XX:ArchiveClassesAtExit={self._path}"]


def _recorded(archive: Path) -> bool:
    """Run a server once to record an archive of its classes; return whether that succeeded."""
    partial = archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    try:
        with _Recorder(partial) as server:
            server.stop()
    except ServiceMissingError:
        raise
    except ServiceError as error:
        announce(f"neo4j: {str(error).partition(chr(10))[0]}")
        partial.unlink(missing_ok=True)
    if not partial.exists():
        return False
    partial.rename(archive)
    return True


def _is_younger(path: Path, seconds: float) -> bool:
    return path.exists() and time.time() - path.stat().st_mtime < seconds


def _require_java(java: Path) -> str:
    """Return the version of a Java program; raise an error if this Neo4j does not run on it."""
    printed = run_tool([java, "-version"], deadline_s=30)
    found = re.search(r'version "((\d+)[^"]*)"', printed)
    if found is None:
        raise ServiceStartError(f"{java} -version printed no version: {printed.strip()!r}")
    if int(found[2]) not in (17, 21):
        raise ServiceMissingError(
            f"Neo4j {pinned_version()} runs on Java 17 or 21, found {found[2]}: "
            "apt-get install openjdk-17-jdk-headless, and put it first on PATH"
        )
    return found[1]
