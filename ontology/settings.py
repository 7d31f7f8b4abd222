"""Read settings from the environment: the URL of each service, and limits. The defaults need no server."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labelgrove.ontology.errors import InputError, SettingsError
from labelgrove.ontology.scopes import SCOPES, check_scopes

__all__ = ["TOKEN_PREFIX", "Settings", "check_variables", "is_this_host", "masked", "unknown_variables"]

_GRAPH_SCHEMES = ("embedded", "bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_DATABASE_SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")
_REDIS_SCHEMES = ("redis", "rediss", "redis+socket", "unix")
_LOG_FORMATS = ("text", "json")

TOKEN_PREFIX = "grove_"
"""How each token of the HTTP service begins, so that programs that look for secrets in files find it."""

_PREFIX = "GROVE_"
_FOR_TESTS = "GROVE_TEST_"
_FOR_COMPOSE = ("GROVE_ARTIFACTS_DIR", "GROVE_GID", "GROVE_UID")
"""Variables of docker-compose.yml, which reads the same ``.env``."""

_TOKENS = re.compile(rf"\b{TOKEN_PREFIX}[\w-]{{43}}|\beyJ[\w-]+\.[\w-]+\.[\w-]*")
"""Tokens of the service, and JSON web tokens."""

_OF_KUBERNETES = re.compile(
    r"GROVE_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""Variables that Kubernetes sets in every container for a Service called ``grove`` or ``grove-...``."""


@dataclass(frozen=True)
class Settings:
    """The settings of one deployment: the URLs of its services, limits, and how its workers are monitored.

    The value of each field comes from the variable ``GROVE_<FIELD>``, or from the file that the variable
    ``GROVE_<FIELD>_FILE`` names, which suits secrets. Passwords are part of the URLs; they are masked in
    `repr` and in every message.

    Attributes
    ----------
    home : Path
        Folder for the graph, the catalog and the artifacts, unless their URLs say otherwise. By default it is
        ``$XDG_DATA_HOME/labelgrove``.
    graph_url : str
        ``embedded:FOLDER`` or ``bolt://user:password@host:7687``. In place of ``bolt``, ``neo4j`` is also
        allowed, and either may be followed by ``+s`` or ``+ssc``.
    database_url : str
        ``sqlite:////path/catalog.db`` or ``postgresql+psycopg://...``.
    artifacts_url : str
        A folder, ``file://`` or any fsspec URL such as ``s3://bucket/prefix``.
    broker_url : str or None
        Redis server of the Celery workers. If None, there is no such server, and jobs run in this process.
    cache_url : str or None
        A second Redis server, which keeps copies of artifacts. If None, copies are kept only in a folder in
        `home`.
    offline : bool
        Whether to take bundles only from this machine.
    keep_jobs_days : int
        Days after which a finished job is forgotten, unless a bundle or a schedule still needs it.
    keep_results : int
        Number of results that stay in the graph, for each kind of job and version; the newest are kept.
    unit_time_limit_s : int
        Seconds after which a Celery worker gives a unit back, to be run again.
    graph_pool_mb : int or None
        Largest size of the embedded graph's buffer pool, in MiB. If None, it is twice the size of the graph's
        file, but at most half of the memory of the machine or container, and at least 256 MiB for readers and
        1 GiB for writers.
    log_format : str
        Format of the workers' log: ``text``, or ``json`` for one object per line.
    metrics_port : int or None
        Port where a worker serves its metrics to Prometheus. If None, it serves none; 0 takes any free port,
        which the log names.
    metrics_address : str
        Address on which workers and the HTTP service serve their metrics. By default, only this machine can
        reach it.
    serve_hosts : tuple of str
        Names, next to those of this machine, that requests to the HTTP service may give its host.
    serve_origins : tuple of str
        Origins whose pages may read what the HTTP service tells Label Studio.
    serve_metrics_port : int or None
        Port where the HTTP service serves its metrics; None and 0 as in `metrics_port`. Of several processes,
        each serves its own metrics at this port or one of those that follow.
    serve_proxy_header : str or None
        Header in which a proxy tells the HTTP service who the user is.
    serve_proxy_peers : tuple of str
        Addresses or networks of the proxies whose header is believed.
    serve_proxy_scopes : tuple of str
        What users of the proxy may do: see `ontology.scopes`.
    serve_jwt_issuer, serve_jwt_audience, serve_jwt_keys : str or None
        Issuer and audience of the JSON web tokens that the HTTP service accepts, and the file or URL with the
        keys of the issuer (JWKS).
    serve_jwt_claim : str
        Claim that says what a user may do.
    serve_jwt_scopes : tuple of pairs of str and tuple of str
        The scopes that each value of the claim allows; by default, ``grove:read`` allows ``read``, and so on.

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
    offline: bool = False
    keep_jobs_days: int = 30
    keep_results: int = 20
    unit_time_limit_s: int = 600
    graph_pool_mb: int | None = None
    log_format: str = "text"
    metrics_port: int | None = None
    metrics_address: str = "127.0.0.1"
    serve_hosts: tuple[str, ...] = ()
    serve_origins: tuple[str, ...] = ()
    serve_metrics_port: int | None = None
    serve_proxy_header: str | None = None
    serve_proxy_peers: tuple[str, ...] = ()
    serve_proxy_scopes: tuple[str, ...] = ("read", "score")
    serve_jwt_issuer: str | None = None
    serve_jwt_audience: str | None = None
    serve_jwt_keys: str | None = None
    serve_jwt_claim: str = "scope"
    serve_jwt_scopes: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
        (f"grove:{scope}", (scope,)) for scope in SCOPES
    )

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read the settings; refuse any other variable that begins with ``GROVE_``.

        Raises
        ------
        SettingsError
            If a setting is malformed (the message names the variable and the rule), or if there are variables
            that are not settings (the message suggests the most similar setting for each).
        """
        env = os.environ if env is None else env
        check_variables(env)
        home = Path(os.path.expanduser(_value_of(env, "GROVE_HOME") or _default_home(env))).absolute()
        if home.is_file():
            raise SettingsError(
                f"GROVE_HOME {home}: this is a file; name a folder, which is created if needed", "GROVE_HOME"
            )
        return cls(
            home=home,
            graph_url=_url(env, "GROVE_GRAPH_URL", _GRAPH_SCHEMES) or f"embedded:{home / 'graph'}",
            database_url=_url(env, "GROVE_DATABASE_URL", _DATABASE_SCHEMES)
            or f"sqlite:///{home / 'catalog.db'}",
            artifacts_url=_value_of(env, "GROVE_ARTIFACTS_URL") or str(home / "artifacts"),
            broker_url=_url(env, "GROVE_BROKER_URL", _REDIS_SCHEMES),
            cache_url=_url(env, "GROVE_CACHE_URL", _REDIS_SCHEMES),
            offline=_switch(env, "GROVE_OFFLINE", "use only the cache"),
            keep_jobs_days=_whole_or(env, "GROVE_KEEP_JOBS_DAYS", 1, 99_999, default=cls.keep_jobs_days),
            keep_results=_whole_or(env, "GROVE_KEEP_RESULTS", 0, 99_999, default=cls.keep_results),
            unit_time_limit_s=_whole_or(
                env, "GROVE_UNIT_TIME_LIMIT_S", 10, 86_400, default=cls.unit_time_limit_s
            ),
            graph_pool_mb=_whole(env, "GROVE_GRAPH_POOL_MB", 64, 1_048_576),
            log_format=_one_of(env, "GROVE_LOG_FORMAT", _LOG_FORMATS),
            metrics_port=_whole(env, "GROVE_METRICS_PORT", 0, 65_535),
            serve_metrics_port=_whole(env, "GROVE_SERVE_METRICS_PORT", 0, 65_535),
            metrics_address=_value_of(env, "GROVE_METRICS_ADDRESS") or cls.metrics_address,
            **_of_serve(env),
        )

    @property
    def graph_is_embedded(self) -> bool:
        """Whether the graph is the embedded engine rather than a Neo4j server."""
        return self.graph_url.startswith("embedded:")

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={masked(str(getattr(self, f.name)))!r}" for f in fields(self))
        return f"Settings({shown})"


def unknown_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that begin with ``GROVE_`` but are not settings, each with advice.

    If a misspelled setting were ignored, its default would apply, for example a separate database on this
    machine. Variables that tests, docker-compose.yml or Kubernetes set also begin with ``GROVE_``; they are
    not returned.

    >>> list(unknown_variables({"GROVE_DATABSE_URL": "postgresql://db/grove", "GROVE_HOME": "/srv/grove"}))
    ['GROVE_DATABSE_URL']
    """
    settings = [f"{_PREFIX}{field.name.upper()}" for field in fields(Settings)]
    files = [f"{name}_FILE" for name in settings]
    known = {*settings, *files, *_FOR_COMPOSE}
    found = sorted(
        name
        for name, value in env.items()
        if name.upper().startswith(_PREFIX) and name not in known and not _is_for_others(name, value)
    )
    return {name: _advice(name, files if name.upper().endswith("_FILE") else settings) for name in found}


def check_variables(env: Mapping[str, str]) -> None:
    """Refuse the variables that `unknown_variables` finds, all in one `SettingsError`."""
    found = unknown_variables(env)
    if not found:
        return
    listed = [f"  {name}: {advice}" for name, advice in found.items()]
    what = "1 variable is" if len(found) == 1 else f"{len(found)} variables are"
    raise SettingsError("\n".join([f"{what} not known to labelgrove:", *listed]))


def masked(text: str) -> str:
    """Return `text` with the secrets of every URL in it, and tokens of the service, replaced by ``***``.

    >>> masked("cannot reach bolt://neo4j:hunter2@db:7687")
    'cannot reach bolt://neo4j:***@db:7687'
    >>> masked("postgresql://u@db/grove?sslmode=require&password=hunter2")
    'postgresql://u@db/grove?sslmode=require&password=***'
    >>> masked("Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln")
    'Bearer ***'
    >>> masked("grove:hunter2@db/grove, redis:/:hunter2@db:1/0")
    'grove:***@db/grove, redis:/:***@db:1/0'
    """
    # up to the last @ of the word, because a password that was not percent-encoded may contain an @ itself
    hidden = re.sub(r"(?<=://)([^:/@\s]*):\S*@", r"\1:***@", text)
    # text that was meant as a URL, with slashes missing
    hidden = re.sub(r"(?<![^\s'\"(=])((?:[\w+.-]+:/)?[^:/@\s]*):(?!/)\S*@", r"\1:***@", hidden)
    hidden = _TOKENS.sub("***", hidden)
    in_query = r"([?&](?:password|passwd|pwd|secret|token|key|code)=)[^&\s'\"]*"
    return re.sub(in_query, r"\1***", hidden, flags=re.IGNORECASE)


def is_this_host(url: str) -> bool:
    """Return whether a URL names a socket file or a loopback address, which no other host can reach.

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


def _is_for_others(name: str, value: str) -> bool:
    of_kubernetes = _OF_KUBERNETES.fullmatch(name) or (
        name.endswith("_PORT") and re.match("(tcp|udp|sctp)://", value)
    )
    return name.startswith(_FOR_TESTS) or bool(of_kubernetes)


def _advice(name: str, settings: Iterable[str]) -> str:
    from labelgrove.ontology.spelling import close_words

    by_rest = {setting.removeprefix(_PREFIX): setting for setting in settings}
    close = close_words(name.upper()[len(_PREFIX) :], by_rest, 1, cutoff=0.5)
    meant = (
        f"did you mean {by_rest[close[0]]}? rename it"
        if close
        else "docs/cli.md lists the settings; rename it"
    )
    return f"{meant}, or remove it: unset {name}, or delete its line in .env"


def _value_of(env: Mapping[str, str], name: str) -> str | None:
    value, file = env.get(name), env.get(f"{name}_FILE")
    if value and file:
        raise SettingsError(f"{name} and {name}_FILE are both set; keep one", name)
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingsError(f"{name}_FILE: cannot read {file!r} ({error.strerror})", name) from error
        except UnicodeDecodeError as error:  # the text of `error` would show the content of the file
            raise SettingsError(
                f"{name}_FILE: {file!r} contains bytes that are not UTF-8; save it as UTF-8", name
            ) from error
    if value and not _is_utf8(value):
        raise SettingsError(
            f"{name}: {masked(value)!r} contains bytes that are not UTF-8; give text in UTF-8", name
        )
    return value or None


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _url(env: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str | None:
    value = _value_of(env, name)
    if value is None:
        return None
    try:
        scheme = urlsplit(value).scheme
    except ValueError as error:
        raise SettingsError(f"{name}: {masked(value)!r} is not a URL ({error})", name) from None
    if scheme not in schemes:
        # a secrets file may consist of only a password
        shown = repr(masked(value)) if env.get(name) else f"the text in {env.get(f'{name}_FILE')!r}"
        raise SettingsError(f"{name}: {shown} must start with one of {', '.join(schemes)}", name)
    if _is_ambiguous(value):
        raise SettingsError(
            f"{name}: {masked(value)!r} contains an @ other than the one before the host; in user and "
            "password write %40 for @, %2F for /, %3F for ? and %23 for #",
            name,
        )
    return value


def _one_of(env: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = _value_of(env, name) or choices[0]
    if value not in choices:
        raise SettingsError(f"{name}: {value!r} must be one of {', '.join(choices)}", name)
    return value


def _of_serve(env: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings about who may use the HTTP service; those that are not set are left out."""
    found: dict[str, Any] = {
        "serve_hosts": _listed(env, "GROVE_SERVE_HOSTS", _HOST, "a name or address, without a port"),
        "serve_origins": _listed(
            env,
            "GROVE_SERVE_ORIGINS",
            _ORIGIN,
            "origins such as https://labels.example.org, without a path and without the port 443 or 80",
        ),
        "serve_proxy_header": _value_of(env, "GROVE_SERVE_PROXY_HEADER"),
        "serve_proxy_peers": _networks(env, "GROVE_SERVE_PROXY_PEERS"),
        "serve_proxy_scopes": _scopes(_value_of(env, "GROVE_SERVE_PROXY_SCOPES"), "GROVE_SERVE_PROXY_SCOPES"),
        "serve_jwt_scopes": _scopes_of_values(env, "GROVE_SERVE_JWT_SCOPES"),
    }
    for name in ("issuer", "audience", "keys", "claim"):
        found[f"serve_jwt_{name}"] = _value_of(env, f"GROVE_SERVE_JWT_{name.upper()}")
    found = {name: value for name, value in found.items() if value}
    for together in (("proxy_header", "proxy_peers"), ("jwt_issuer", "jwt_audience", "jwt_keys")):
        missing = [name for name in together if f"serve_{name}" not in found]
        if 0 < len(missing) < len(together):
            unset = f"GROVE_SERVE_{missing[0].upper()}"
            others = " and ".join(f"GROVE_SERVE_{name.upper()}" for name in together if name not in missing)
            raise SettingsError(f"{unset}: is not set, but {others} is; set all of them, or none", unset)
    header = found.get("serve_proxy_header", "x")
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", header) or header.lower() in (
        "authorization",
        "cookie",
        "host",
    ):
        raise SettingsError(
            f"GROVE_SERVE_PROXY_HEADER: {header!r:.80} is not the name of a header; give one such as "
            "X-Forwarded-User",
            "GROVE_SERVE_PROXY_HEADER",
        )
    keys = found.get("serve_jwt_keys", "")
    if "://" in keys and not (keys.startswith("https://") or is_this_host(keys)):
        raise SettingsError(
            f"GROVE_SERVE_JWT_KEYS: {masked(keys)!r} can be changed on its way; give a file or a URL that "
            "begins with https://",
            "GROVE_SERVE_JWT_KEYS",
        )
    return found


_HOST = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_ORIGIN = re.compile(
    rf"(?!https:.*:443$|http:.*:80$)https?://({_HOST.pattern})(:[0-9]{{1,5}})?"  # as browsers send them
)


def _listed(env: Mapping[str, str], name: str, form: re.Pattern[str], rule: str) -> tuple[str, ...]:
    parts = [part.strip().lower() for part in (_value_of(env, name) or "").split(",")]
    for part in filter(None, parts):
        if not form.fullmatch(part):
            raise SettingsError(f"{name}: {part!r:.80} given; give {rule}, separated by commas", name)
    return tuple(filter(None, parts))


def _networks(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    parts = _listed(env, name, re.compile(r"[0-9a-f:./]+"), "addresses or networks such as 10.0.0.0/8")
    try:
        return tuple(str(ipaddress.ip_network(part)) for part in parts)
    except ValueError as error:
        raise SettingsError(
            f"{name}: {error}; give addresses or networks such as 10.0.0.0/8", name
        ) from error


def _scopes(text: str | None, name: str, separator: str = ",") -> tuple[str, ...]:
    try:
        return check_scopes(text.split(separator)) if text else ()
    except InputError as error:
        raise SettingsError(f"{name}: {error}", name) from error


def _scopes_of_values(env: Mapping[str, str], name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = []
    for part in filter(None, (_value_of(env, name) or "").split(",")):
        value, equals, scopes = part.strip().rpartition("=")
        if not (equals and value and scopes):
            raise SettingsError(
                f"{name}: {part!r:.80} given; give VALUE=SCOPE+SCOPE such as staff=read+score, separated by "
                "commas",
                name,
            )
        found.append((value, _scopes(scopes, name, "+")))
    return tuple(found)


def _switch(env: Mapping[str, str], name: str, meaning: str) -> bool:
    value = _value_of(env, name) or "0"
    if value not in ("0", "1"):
        raise SettingsError(f"{name}: {value!r} must be 0 or 1; 1 means: {meaning}", name)
    return value == "1"


def _whole(env: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    value = _value_of(env, name)
    if value is None:
        return None
    if not re.fullmatch(r"0|[1-9][0-9]{0,8}", value) or not least <= int(value) <= most:
        raise SettingsError(f"{name}: {value!r} is not a whole number from {least} to {most}", name)
    return int(value)


def _whole_or(env: Mapping[str, str], name: str, least: int, most: int, *, default: int) -> int:
    value = _whole(env, name, least, most)
    return default if value is None else value


def _is_ambiguous(url: str) -> bool:
    """Return whether `url` has an extra ``@``, so that parsers disagree about where its host begins."""
    rest = url.partition("://")[2]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return bool(authority) and rest.count("@") > ("@" in authority)


def _default_home(env: Mapping[str, str]) -> str:
    return str(Path(env.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "labelgrove")
