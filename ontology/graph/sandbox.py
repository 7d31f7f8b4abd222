"""A process for one user query on the embedded graph: read-only file, limits of the system, killed when late.

The parent starts ``python -m ontology.graph.sandbox`` with an environment of its own, sends one JSON request
and reads one JSON answer. The child lowers its limits before it opens the file: processor time, address
space, and no byte to any file, so that even a statement which the guard overlooked writes nothing.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ontology.errors import GroveError, QueryFailedError, QueryTimeoutError
from ontology.graph.errors import GraphDamagedError
from ontology.graph.rows import Rows

__all__ = ["run"]

_GRACE_S = 5.0
_HEAP_BYTES = 2 << 30
_ANSWER_BYTES = 64 << 20
_ERRORS = {"damaged": GraphDamagedError, "timeout": QueryTimeoutError, "failed": QueryFailedError}


def run(path: Path, cypher: str, params: Mapping[str, Any], *, timeout_s: float, max_rows: int) -> Rows:
    """Answer `cypher` from the database file `path` in a process of its own.

    Parameters
    ----------
    path : Path
        A file that nobody writes to; the caller's own name for it.
    cypher, params
        A statement that the guard has let through, and its parameters, which JSON can hold.
    timeout_s : float
        Seconds for the query; the process is killed some seconds later.
    max_rows : int
        Rows returned at most.

    Raises
    ------
    QueryTimeoutError, QueryFailedError
        When the query runs too long; when it is wrong, needs too much memory or answers with too much.
    """
    request = json.dumps(
        {
            "path": str(path),
            "cypher": cypher,
            "params": dict(params),
            "timeout_s": timeout_s,
            "max_rows": max_rows,
        }
    )
    # no passwords of ours in there; folders in full, because the child runs elsewhere
    environment = {n: v for n, v in os.environ.items() if n in ("PATH", "LD_LIBRARY_PATH", "LANG")}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    child = subprocess.Popen(
        [sys.executable, "-B", "-m", "ontology.graph.sandbox"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=path.parent,
    )
    with child:
        try:
            answer, complaint = child.communicate(request.encode(), timeout=timeout_s + _GRACE_S)
        except subprocess.TimeoutExpired as error:
            child.kill()
            child.communicate()
            raise QueryTimeoutError(f"the query ran past {timeout_s:g} s and was stopped") from error
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        if child.returncode == -signal.SIGXCPU:
            raise QueryTimeoutError(f"the query used more processor time than {timeout_s:g} s allow")
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise QueryFailedError(
            f"the query ended its process with status {child.returncode}{': ' + last if last else ''}; "
            "it may need more memory than a query is given"
        )
    reply = json.loads(answer)
    if "error" in reply:
        message = reply["message"]
        if reply["error"] == "timeout":
            message = f"the query ran past {timeout_s:g} s and was stopped"
        raise _ERRORS[reply["error"]](message)
    return Rows(tuple(reply["columns"]), [tuple(row) for row in reply["rows"]], truncated=reply["truncated"])


def _limit(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (bound, bound))


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    from ontology.graph.embedded import fetch, limited_connection, reserved_bytes

    path, timeout_s = Path(request["path"]), float(request["timeout_s"])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails with an error instead
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CPU, math.ceil(timeout_s + _GRACE_S))
    _limit(resource.RLIMIT_AS, 2 * reserved_bytes(path) + _HEAP_BYTES)
    try:
        with limited_connection(path, timeout_s) as connection:
            return _outcome(
                lambda: fetch(connection, request["cypher"], request["params"], request["max_rows"])
            )
    except GraphDamagedError as error:
        return {"error": "damaged", "message": str(error)}


def _outcome(query: Callable[[], Rows]) -> dict[str, Any]:
    try:
        rows = query()
    except QueryTimeoutError as error:
        return {"error": "timeout", "message": str(error)}
    except GraphDamagedError as error:  # the file was opened, and the same words come from a query too large
        return {
            "error": "failed",
            "message": f"the engine failed at the query: {error.__cause__}; make it smaller, and if small "
            "ones fail too, run: grove graph verify",
        }
    except GroveError as error:
        return {"error": "failed", "message": str(error)}
    return {"columns": rows.columns, "rows": rows.rows, "truncated": rows.truncated}


def _main() -> None:
    reply = json.dumps(_answer(json.load(sys.stdin.buffer)))
    if len(reply) > _ANSWER_BYTES:
        message = f"the answer is larger than {_ANSWER_BYTES >> 20} MiB; return fewer rows or smaller values"
        reply = json.dumps({"error": "failed", "message": message})
    sys.stdout.write(reply)
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
