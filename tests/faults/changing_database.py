"""A PostgreSQL database that refuses its user for a while, in every possible way."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from tests.services.postgres_server import _connect

__all__ = ["WAYS", "Way", "ordinary_user", "refusing"]

_TABLES = (
    "ontology, version, artifact, bundle, upkeep, job, unit, job_unit, publication, schedule, firing, token"
)


@dataclass(frozen=True)
class Way:
    """A way to refuse a user: SQL that begins and ends it, the message, and SQL in an open transaction."""

    begin: str
    end: str
    told: str
    held: str = ""


WAYS: Mapping[str, Way] = {
    "read-only": Way(
        "ALTER DATABASE {database} SET default_transaction_read_only = on",
        "ALTER DATABASE {database} RESET default_transaction_read_only",
        "it takes no writes for now",
    ),
    "canceled": Way(
        "ALTER ROLE {user} SET statement_timeout = '50ms'",
        "ALTER ROLE {user} RESET statement_timeout",
        "the server stopped the statement",
        held=f"LOCK TABLE {_TABLES}",
    ),
    "held": Way(
        "ALTER ROLE {user} SET lock_timeout = '50ms'",
        "ALTER ROLE {user} RESET lock_timeout",
        "somebody else is using it",
        held=f"LOCK TABLE {_TABLES}",
    ),
    "without rights": Way(
        "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {user}",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}",
        "its user may not do this",
    ),
    "without tables": Way(
        "; ".join(
            f"ALTER TABLE {name} RENAME TO {name}_" for name in ("unit", "ontology", "schedule", "token")
        ),
        "; ".join(
            f"ALTER TABLE {name}_ RENAME TO {name}" for name in ("unit", "ontology", "schedule", "token")
        ),
        "the schema does not fit this version",
    ),
    "without room": Way(
        "ALTER ROLE {user} CONNECTION LIMIT 0",
        "ALTER ROLE {user} CONNECTION LIMIT -1",
        "it takes no more connections",
    ),
    "without a password": Way(
        "ALTER ROLE {user} NOLOGIN",
        "ALTER ROLE {user} LOGIN",
        "user or password is wrong",
    ),
}
"""Every way in which a running server may refuse a user whom it accepted a moment ago."""


@contextmanager
def ordinary_user(url: str) -> Iterator[str]:
    """Yield the URL of the database for a new user, who has the rights that workers need."""
    name = f"grove_{secrets.token_hex(6)}"
    with _connect(url) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{name}'")
        admin.execute(f"GRANT ALL ON SCHEMA public TO {name}")
        admin.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO {name}")
        admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}")
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    try:
        yield urlunsplit(parts._replace(netloc=f"{name}:{name}@{host}"))
    finally:
        with _connect(url) as admin:
            _end_sessions(admin, name)
            admin.execute(f"DROP OWNED BY {name}")
            admin.execute(f"DROP ROLE {name}")


@contextmanager
def refusing(way: Way, admin_url: str, user_url: str) -> Iterator[None]:
    """Let the database refuse its user while the block runs; open sessions are ended before and after it."""
    user, database = urlsplit(user_url).username, urlsplit(user_url).path.removeprefix("/")
    with _connect(admin_url) as admin, _connect(admin_url) as holder:
        admin.execute(way.begin.format(user=user, database=database))
        _end_sessions(admin, user)
        try:
            with holder.transaction():
                if way.held:
                    holder.execute(way.held)
                yield
        finally:
            admin.execute("SET default_transaction_read_only = off")
            admin.execute(way.end.format(user=user, database=database))
            _end_sessions(admin, user)


def _end_sessions(admin, user: str | None) -> None:
    """End every session of a user, because changes of a database only affect new sessions."""
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s"
    admin.execute(ended, (user,))
