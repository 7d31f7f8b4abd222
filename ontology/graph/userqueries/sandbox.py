"""Run one user query in a separate process, on either engine: read-only and within limits of time and size.

The parent process (`run`) starts the engine's module ``userquery`` as a program with a reduced environment,
sends one JSON request and reads one JSON answer. Before the child process (`answer`) connects to the engine,
it limits its own processor time and memory, and the size of any file to 0 bytes, so that even a statement
that the guard missed cannot write to a file.

A separate process is needed because an engine can send a row of any size: in the caller's process, the
driver's work on such a row could be neither stopped nor limited. The time limit therefore also covers the
fetching of rows. The child ends as soon as it has answered or passed the time limit, even if its sockets
contain more data. A server ends the transaction when the connection is closed.
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
"""Runs a query in the child process: yields its column names and an iterator over its rows."""

Reach = Callable[[Mapping[str, Any], float, int], AbstractContextManager[Query]]
"""Connects the child process to its engine.

Takes three arguments: `place` (see `run`), the time limit in seconds and the row limit; yields a `Query`.
"""

FETCHED_TOGETHER = 1000
"""Number of rows that a server sends at a time."""

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
    """Answer `cypher` in a separate process.

    Parameters
    ----------
    program : str
        Name of the module that the process runs; it calls `answer`.
    place : mapping
        What the module needs to connect to its engine; JSON must be able to represent it.
    cypher, params
        A statement that the guard accepted, and its parameters, which JSON must be able to represent.
    timeout_s : float
        Time limit of the query in seconds, including the fetching of rows. A process that does not end by
        itself is killed five seconds later.
    max_rows : int
        Maximum number of rows returned.
    folder : Path
        Working directory of the process.

    Raises
    ------
    QueryTimeoutError
        If the query runs too long.
    QueryFailedError
        If the query is wrong or needs too much memory, or its answer is too large.
    PlatformError
        On an operating system that cannot limit processes.
    """
    require_posix("a Cypher query")
    limits = {"timeout_s": timeout_s, "max_rows": max_rows}
    request = {"place": dict(place), "cypher": cypher, "params": dict(params), "limits": limits}
    # without our passwords; with absolute folders, because the child has another working directory
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
            "it may have needed more memory than a query is allowed: return less, or aggregate more"
        )
    reply = json.loads(answer)
    if "error" in reply:
        raise _ERRORS[reply["error"]](reply["message"])
    return Rows(tuple(reply["columns"]), [tuple(row) for row in reply["rows"]], truncated=reply["truncated"])


def _overdue(timeout_s: float) -> QueryTimeoutError:
    return QueryTimeoutError(
        f"the query ran past {timeout_s:g} s and was stopped; request less, or allow more time (--timeout)"
    )


# ---- the child -----------------------------------------------------------------------------------------


def answer(reach: Reach) -> NoReturn:
    """Answer the request on standard input, and end the process.

    The process first lowers its own limits. Then it calls `reach`, which connects to the engine.
    """
    request = json.load(sys.stdin.buffer)
    timeout_s, max_rows = float(request["limits"]["timeout_s"]), int(request["limits"]["max_rows"])
    signal.signal(signal.SIGALRM, lambda *_: _end(_error(_overdue(timeout_s))))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that a write fails with an error
    _limit("CORE", 0)
    _limit("FSIZE", 0)
    _limit("CPU", math.ceil(timeout_s + _GRACE_S))
    try:
        with reach(request["place"], timeout_s, max_rows) as query:
            signal.setitimer(signal.ITIMER_REAL, timeout_s)
            with query(request["cypher"], request["params"]) as (columns, rows):
                _end(encoded(columns, rows, max_rows))  # in the block: drops the remaining rows unread
    except QueryTimeoutError:
        _end(_error(_overdue(timeout_s)))
    except GroveError as error:
        _end(_error(error))
    except MemoryError:
        _end(_error(QueryFailedError("the query needs more memory than it may use; return less")))
    except RecursionError:
        _end(_error(QueryFailedError("a value of the answer is nested too deeply; return its parts")))


def limit_memory(engine_bytes: int = 0) -> None:
    """Limit the address space of this process to `engine_bytes` plus 2 GiB for everything else."""
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
