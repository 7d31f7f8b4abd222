"""A process for one user query, on either engine: read-only, limits of the system, ended when late.

The parent (`run`) starts the engine's own program (its module ``userquery``) with an environment of its own,
sends one JSON request and reads one JSON answer. The child (`answer`) lowers its limits before it reaches the
engine: processor time, memory, and no byte to any file, so that even a statement which the guard overlooked
writes nothing.

Time runs while rows are fetched, too, and an engine can send a row of any size: what a driver does with it
cannot be stopped or bounded inside the process of the caller. The child ends as soon as it has answered or is
late, whatever still stands in its sockets; a server ends the transaction of a connection that closes.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

from labelgrove.ontology.errors import (
    GraphDamagedError,
    GroveError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    TransientError,
)
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.userqueries.answersize import encoded
from labelgrove.ontology.store.posix import require_posix

__all__ = ["FETCHED_TOGETHER", "Query", "Reach", "answer", "limit_memory", "run"]

Query = Callable[
    [str, Mapping[str, Any]], AbstractContextManager[tuple[Sequence[str], Iterator[Sequence[Any]]]]
]
"""How the child asks an engine: it gives columns, and rows of plain values, fetched one by one."""

Reach = Callable[[Mapping[str, Any], float, int], AbstractContextManager[Query]]
"""How the child reaches its engine, given the place, the seconds for the query and the most rows of it."""

FETCHED_TOGETHER = 1000
"""Rows that a server sends at a time."""

_GRACE_S = 5.0
_HEAP_BYTES = 2 << 30
_ERRORS = {
    kind.__name__: kind
    for kind in (GraphDamagedError, QueryFailedError, QueryTimeoutError, ServiceError, TransientError)
}
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR")


def run(
    program: str,
    place: Mapping[str, Any],
    cypher: str,
    params: Mapping[str, Any],
    *,
    timeout_s: float,
    max_rows: int,
    folder: Path = Path("/"),
) -> Rows:
    """Answer `cypher` in a process of its own.

    Parameters
    ----------
    program : str
        Name of the module that the process runs; it calls `answer`.
    place : mapping
        What that module needs to reach its engine, which JSON can hold.
    cypher, params
        A statement that the guard has let through, and its parameters, which JSON can hold.
    timeout_s : float
        Seconds for the query, the fetching of its rows included; the process is killed some seconds later.
    max_rows : int
        Rows returned at most.
    folder : Path
        Where the process runs.

    Raises
    ------
    QueryTimeoutError, QueryFailedError
        When the query runs too long; when it is wrong, needs too much memory or answers with too much.
    PlatformError
        On a system that does not limit processes.
    """
    require_posix("a Cypher query")
    limits = {"timeout_s": timeout_s, "max_rows": max_rows}
    request = {"place": dict(place), "cypher": cypher, "params": dict(params), "limits": limits}
    # no passwords of ours in there; folders in full, because the child runs elsewhere
    environment = {n: v for n, v in os.environ.items() if n in _INHERITED}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    child = subprocess.Popen(
        [sys.executable, "-B", "-m", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
    )
    with child:
        try:
            answer, complaint = child.communicate(json.dumps(request).encode(), timeout=timeout_s + _GRACE_S)
        except subprocess.TimeoutExpired as error:
            child.kill()
            child.communicate()
            raise _overdue(timeout_s) from error
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        if child.returncode == -signal.SIGXCPU:
            raise _overdue(timeout_s)
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise QueryFailedError(
            f"the query ended its process with status {child.returncode}{': ' + last if last else ''}; "
            "it may need more memory than a query is given: return less, or group it further"
        )
    reply = json.loads(answer)
    if "error" in reply:
        raise _ERRORS[reply["error"]](reply["message"])
    return Rows(tuple(reply["columns"]), [tuple(row) for row in reply["rows"]], truncated=reply["truncated"])


def _overdue(timeout_s: float) -> QueryTimeoutError:
    return QueryTimeoutError(
        f"the query ran past {timeout_s:g} s and was stopped; ask for less, or allow it more time (--timeout)"
    )


# ---- the child -----------------------------------------------------------------------------------------


def answer(reach: Reach) -> NoReturn:
    """Answer the request on standard input and end the process; `reach` is called with its limits lowered."""
    request = json.load(sys.stdin.buffer)
    timeout_s, max_rows = float(request["limits"]["timeout_s"]), int(request["limits"]["max_rows"])
    signal.signal(signal.SIGALRM, lambda *_: _end(_error(_overdue(timeout_s))))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails with an error instead
    _limit("CORE", 0)
    _limit("FSIZE", 0)
    _limit("CPU", math.ceil(timeout_s + _GRACE_S))
    try:
        with reach(request["place"], timeout_s, max_rows) as query:
            signal.setitimer(signal.ITIMER_REAL, timeout_s)
            with query(request["cypher"], request["params"]) as (columns, rows):
                _end(encoded(columns, rows, max_rows))  # inside: rows on their way are dropped, not drained
    except QueryTimeoutError:
        _end(_error(_overdue(timeout_s)))
    except GroveError as error:
        _end(_error(error))
    except MemoryError:
        _end(_error(QueryFailedError("the query needs more memory than it is given; return less of it")))
    except RecursionError:
        _end(_error(QueryFailedError("a value of the answer is nested too deeply; return what it holds")))


def limit_memory(engine_bytes: int = 0) -> None:
    """Lower the address space of this process to what the engine reserves and a heap of 2 GiB."""
    _limit("AS", engine_bytes + _HEAP_BYTES)


def _limit(name: str, value: int) -> None:
    import resource

    kind = getattr(resource, f"RLIMIT_{name}")
    hard = resource.getrlimit(kind)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def _error(error: GroveError) -> str:
    kind = next((k for k in type(error).__mro__ if k.__name__ in _ERRORS), QueryFailedError)
    return json.dumps({"error": kind.__name__, "message": str(error)})


def _end(reply: str) -> NoReturn:
    """Send the reply and end the process at once."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.write(reply)
    sys.stdout.flush()
    os._exit(0)
