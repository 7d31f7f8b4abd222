"""Where things are: settings from the environment, each with a default that needs no server."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from ontology.errors import SettingsError

__all__ = ["Settings", "is_this_host", "masked"]

_GRAPH_SCHEMES = ("embedded", "bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_DATABASE_SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")
_REDIS_SCHEMES = ("redis", "rediss", "redis+socket", "unix")
_LOG_FORMATS = ("text", "json")


@dataclass(frozen=True)
class Settings:
    """The URLs of one deployment, and how its workers are watched.

    Every field reads ``GROVE_<FIELD>`` or, for secrets kept in files, ``GROVE_<FIELD>_FILE``. Passwords stand
    in the URLs and are masked in `repr` and in every message.

    Attributes
    ----------
    home : Path
        Folder of the embedded default; ``$XDG_DATA_HOME/labelgrove`` unless set.
    graph_url : str
        ``embedded:FOLDER`` or ``bolt://user:password@host:7687`` (also ``neo4j://``, ``+s``, ``+ssc``).
    database_url : str
        ``sqlite:////path/catalog.db`` or ``postgresql+psycopg://...``.
    artifacts_url : str
        A folder, ``file://`` or any fsspec URL such as ``s3://bucket/prefix``.
    broker_url : str or None
        Redis of the Celery workers; None: no server, work runs in this process.
    cache_url : str or None
        A second Redis, which keeps copies of artifacts; None: copies stand in a folder of `home` alone.
    keep_jobs_days : int
        Days after which a finished job is forgotten, unless a bundle or a schedule still needs it.
    keep_results : int
        Results of each kind and version of an ontology that stay in the graph, the newest.
    unit_time_limit_s : int
        Seconds after which a Celery worker gives a unit back, to be tried again.
    log_format : str
        What workers write their log as: ``text``, or ``json`` for one object per line.
    metrics_port : int or None
        Where a worker answers Prometheus; None: nowhere. 0 takes any free port and says which in the log.
    metrics_address : str
        The address it listens at; this machine alone unless set.

    Examples
    --------
    >>> Settings.from_env({"GROVE_HOME": "/tmp/grove"}).database_url
    'sqlite:////tmp/grove/catalog.db'
    """

    home: Path
    graph_url: str
    database_url: str
    artifacts_url: str
    broker_url: str | None = None
    cache_url: str | None = None
    keep_jobs_days: int = 30
    keep_results: int = 20
    unit_time_limit_s: int = 600
    log_format: str = "text"
    metrics_port: int | None = None
    metrics_address: str = "127.0.0.1"

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read the settings; a malformed one raises `SettingsError` naming the variable and the rule."""
        env = os.environ if env is None else env
        home = Path(os.path.expanduser(_read(env, "GROVE_HOME") or _default_home(env))).absolute()
        return cls(
            home=home,
            graph_url=_url(env, "GROVE_GRAPH_URL", _GRAPH_SCHEMES) or f"embedded:{home / 'graph'}",
            database_url=_url(env, "GROVE_DATABASE_URL", _DATABASE_SCHEMES)
            or f"sqlite:///{home / 'catalog.db'}",
            artifacts_url=_read(env, "GROVE_ARTIFACTS_URL") or str(home / "artifacts"),
            broker_url=_url(env, "GROVE_BROKER_URL", _REDIS_SCHEMES),
            cache_url=_url(env, "GROVE_CACHE_URL", _REDIS_SCHEMES),
            keep_jobs_days=_whole_or(env, "GROVE_KEEP_JOBS_DAYS", 1, 99_999, default=cls.keep_jobs_days),
            keep_results=_whole_or(env, "GROVE_KEEP_RESULTS", 0, 99_999, default=cls.keep_results),
            unit_time_limit_s=_whole_or(
                env, "GROVE_UNIT_TIME_LIMIT_S", 10, 86_400, default=cls.unit_time_limit_s
            ),
            log_format=_one_of(env, "GROVE_LOG_FORMAT", _LOG_FORMATS),
            metrics_port=_whole(env, "GROVE_METRICS_PORT", 0, 65_535),
            metrics_address=_read(env, "GROVE_METRICS_ADDRESS") or cls.metrics_address,
        )

    @property
    def graph_is_embedded(self) -> bool:
        """Whether the graph is the embedded engine rather than a Neo4j server."""
        return self.graph_url.startswith("embedded:")

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={masked(str(getattr(self, f.name)))!r}" for f in fields(self))
        return f"Settings({shown})"


def masked(text: str) -> str:
    """Return `text` with the secrets of every URL in it replaced by ``***``.

    >>> masked("cannot reach bolt://neo4j:hunter2@db:7687")
    'cannot reach bolt://neo4j:***@db:7687'
    >>> masked("postgresql://u@db/grove?sslmode=require&password=hunter2")
    'postgresql://u@db/grove?sslmode=require&password=***'
    >>> masked("grove:hunter2@db/grove, redis:/:hunter2@db:1/0")
    'grove:***@db/grove, redis:/:***@db:1/0'
    """
    # up to the last @ of the word: a password that nobody percent-encoded may hold one itself
    hidden = re.sub(r"(?<=://)([^:/@\s]*):\S*@", r"\1:***@", text)
    # what was meant as a URL, its slashes lost or too few
    hidden = re.sub(r"(?<![^\s'\"(=])((?:[\w+.-]+:/)?[^:/@\s]*):(?!/)\S*@", r"\1:***@", hidden)
    return re.sub(r"([?&](?:password|passwd|pwd|secret|token|key)=)[^&\s'\"]*", r"\1***", hidden, flags=re.I)


def is_this_host(url: str) -> bool:
    """Whether a URL names a socket file or a loopback address, so that no other host reaches what is there.

    >>> is_this_host("redis://localhost:6379/0"), is_this_host("redis://db:6379/0")
    (True, False)
    """
    parts = urlsplit(url)
    if parts.scheme in ("unix", "redis+socket"):
        return True
    host = parts.hostname or "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(env: Mapping[str, str], name: str) -> str | None:
    value, file = env.get(name), env.get(f"{name}_FILE")
    if value and file:
        raise SettingsError(f"{name} and {name}_FILE are both set; keep one")
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingsError(f"{name}_FILE: cannot read {file!r} ({error.strerror})") from error
        except UnicodeDecodeError as error:  # the text of `error` would show what the file holds
            raise SettingsError(f"{name}_FILE: {file!r} holds bytes that are not UTF-8") from error
    if value and not _is_utf8(value):
        raise SettingsError(f"{name}: {masked(value)!r} holds bytes that are not UTF-8; choose another name")
    return value or None


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _url(env: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str | None:
    value = _read(env, name)
    if value is None:
        return None
    try:
        scheme = urlsplit(value).scheme
    except ValueError as error:
        raise SettingsError(f"{name}: {masked(value)!r} is not a URL ({error})") from None
    if scheme not in schemes:
        # the whole of a secrets file may be a password
        shown = repr(masked(value)) if env.get(name) else f"what {env.get(f'{name}_FILE')!r} holds"
        raise SettingsError(f"{name}: {shown} must start with one of {', '.join(schemes)}")
    if _is_ambiguous(value):
        raise SettingsError(
            f"{name}: {masked(value)!r} holds an @ besides the one before the host; in user and password "
            "write %40 for @, %2F for /, %3F for ? and %23 for #"
        )
    return value


def _one_of(env: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = _read(env, name) or choices[0]
    if value not in choices:
        raise SettingsError(f"{name}: {value!r} must be one of {', '.join(choices)}")
    return value


def _whole(env: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    value = _read(env, name)
    if value is None:
        return None
    if not re.fullmatch(r"0|[1-9][0-9]{0,8}", value) or not least <= int(value) <= most:
        raise SettingsError(f"{name}: {value!r} is not a whole number from {least} to {most}")
    return int(value)


def _whole_or(env: Mapping[str, str], name: str, least: int, most: int, *, default: int) -> int:
    value = _whole(env, name, least, most)
    return default if value is None else value


def _is_ambiguous(url: str) -> bool:
    """Whether parsers would disagree where the host of `url` begins."""
    rest = url.partition("://")[2]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return bool(authority) and rest.count("@") > ("@" in authority)


def _default_home(env: Mapping[str, str]) -> str:
    return str(Path(env.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "labelgrove")
