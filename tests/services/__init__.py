"""Real Neo4j, Redis and PostgreSQL servers, and an S3 stand-in, without containers and without root.

Each server class is a context manager with `url`, `pid`, `version`, `start()`, `kill()` (by SIGKILL, like a
power cut) and `stop()`. After `kill` or `stop`, `start` continues with the same data on the same port.

From the shell::

    python -m tests.services neo4j --print-url        # one server in the foreground, until Ctrl-C
    python -m tests.services run -- python -m pytest  # all three, and a command with their URLs
    python -m tests.services time-scale               # how many times slower than usual this machine is
"""

from tests.services.neo4j_server import Neo4jServer
from tests.services.patience import patient
from tests.services.postgres_server import PostgresServer
from tests.services.process import (
    ServerProcess,
    ServiceError,
    ServiceMissingError,
    ServiceStartError,
    wait_until,
)
from tests.services.redis_server import RedisServer
from tests.services.s3_server import S3Server

__all__ = [
    "Neo4jServer",
    "PostgresServer",
    "RedisServer",
    "S3Server",
    "ServerProcess",
    "ServiceError",
    "ServiceMissingError",
    "ServiceStartError",
    "patient",
    "wait_until",
]
