"""Clients of the HTTP service that go on while anything is killed, and remember what they were told."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.services import patient

__all__ = ["Clients", "Told"]

_ENDED = ("done", "failed", "cancelled")
_AGAIN_S = 0.2
_PACE_S = 0.1  # between two requests of one client: all together stay below the limit of one actor
_SILENT_S = 40.0  # a stream says something every 15 s
_ANSWER_S = patient(60.0)


@dataclass
class Told:
    """What all clients together were told.

    Attributes
    ----------
    scored : Counter of int
        Number of answers to requests for scores by status.
    broken : int
        Requests for scores whose connection broke: their server was killed.
    wrong : list of str
        What no client may be told: a wrong score, or a state that a job cannot have after an earlier one.
    slowest_s : float
        The longest time that a score took.
    accepted : dict of str to object
        Jobs that were accepted, by id, with what was asked.
    events, reconnects : int
        Events that watchers got, and how often they had to connect again.
    seen : dict of dict
        For each watcher and job, the state and the number of done units that it was told last.
    """

    scored: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    wrong: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    accepted: dict[str, Any] = field(default_factory=dict)
    events: int = 0
    reconnects: int = 0
    seen: dict[int, dict[str, tuple[str, int]]] = field(default_factory=lambda: defaultdict(dict))


class Clients:
    """Threads that score, watch jobs and submit them, until the ``with`` block ends.

    Parameters
    ----------
    port : int
    token : str
        With the scopes read, score and work.
    outputs : ndarray of float64, shape (n_rows, n_observed)
        Rows that are scored; each request takes some of them.
    answers : mapping of str to ndarray of int64
        For each digest of a bundle, the index of the answer to each row.
    ask : iterator of dict
        Documents of jobs to submit.
    """

    def __init__(
        self,
        port: int,
        token: str,
        *,
        outputs: NDArray[np.float64],
        answers: Mapping[str, NDArray[np.int64]],
        ask: Iterator[dict[str, Any]],
        n_scoring: int = 16,
        n_watching: int = 20,
    ) -> None:
        self.told = Told()
        self._port, self._token = port, token
        self._outputs, self._answers, self._ask = outputs, answers, ask
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._submitting_ends = threading.Event()
        work: list[tuple[Callable[..., None], int]] = [(self._submit, 0)]
        work += [(self._score, i) for i in range(n_scoring)] + [(self._watch, i) for i in range(n_watching)]
        self._threads = [threading.Thread(target=one, args=(i,), daemon=True) for one, i in work]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(_ANSWER_S + _SILENT_S)

    def stop_submitting(self) -> None:
        """Submit no further job."""
        self._submitting_ends.set()
        self._threads[0].join(_ANSWER_S)

    @property
    def dead(self) -> int:
        """Number of threads that ended before the block did."""
        return sum(not thread.is_alive() for thread in self._threads[1:])

    # ---- requests ----------------------------------------------------------------------------------

    def _connect(self, timeout_s: float) -> contextlib.closing[http.client.HTTPConnection]:
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout_s))

    def _post(self, path: str, body: bytes, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
        known = {"Authorization": f"Bearer {self._token}"} | headers
        with self._connect(_ANSWER_S) as connection:
            connection.request("POST", path, body, known)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    # ---- scoring -----------------------------------------------------------------------------------

    def _score(self, which: int) -> None:
        rng = np.random.default_rng(which)
        while not self._ending.wait(_PACE_S):
            rows = rng.choice(len(self._outputs), 8)
            began = time.monotonic()
            try:
                status, headers, body = self._infer(self._outputs[rows])
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.told.broken += 1
                self._ending.wait(_AGAIN_S)
                continue
            with self._lock:
                self.told.scored[status] += 1
                self.told.slowest_s = max(self.told.slowest_s, time.monotonic() - began)
                if status == 200:
                    self._check(rows, headers, body)
                elif not (status == 503 and "Retry-After" in headers):
                    self.told.wrong.append(f"score: {status} {body[:200]!r}")

    def _infer(self, values: NDArray[np.float64]) -> tuple[int, Mapping[str, str], bytes]:
        content = values.astype("<f8").tobytes()
        tensor = {"name": "probabilities", "datatype": "FP64", "shape": list(values.shape)}
        tensor["parameters"] = {"binary_data_size": len(content)}
        wanted = {"name": "index", "parameters": {"binary_data": True}}
        head = json.dumps({"inputs": [tensor], "outputs": [wanted]}).encode()
        length = {"Inference-Header-Content-Length": str(len(head))}
        return self._post("/v2/models/zoo~tree/infer", head + content, **length)

    def _check(self, rows: NDArray[np.int64], headers: Mapping[str, str], body: bytes) -> None:
        n = int(headers["Inference-Header-Content-Length"])
        digest = json.loads(body[:n])["model_version"]
        found = np.frombuffer(body[n:], "<i8").tolist()
        if digest not in self._answers or found != self._answers[digest][rows].tolist():
            self.told.wrong.append(f"score: {found} for rows {rows.tolist()} of {digest[:12]}")

    # ---- jobs --------------------------------------------------------------------------------------

    def _submit(self, _: int) -> None:
        for asked in self._ask:
            while not self._submitting_ends.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    kind = {"Content-Type": "application/json"}
                    status, _headers, body = self._post("/v1/jobs", json.dumps(asked).encode(), **kind)
                    if status in (200, 202):
                        with self._lock:
                            self.told.accepted[json.loads(body)["id"]] = asked
                        break
                    if status not in (503, 429):
                        with self._lock:
                            self.told.wrong.append(f"submit: {status} {body[:300]!r}")
                self._submitting_ends.wait(_AGAIN_S)
            if self._submitting_ends.wait(1.0):
                return

    # ---- watching ----------------------------------------------------------------------------------

    def _watch(self, which: int) -> None:
        last = ""
        while not self._ending.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                last = self._stream(which, last)
            with self._lock:
                self.told.reconnects += 1
            self._ending.wait(_AGAIN_S)

    def _stream(self, which: int, last: str) -> str:
        """Read events until the connection breaks, and return the id of the last one."""
        headers = {"Authorization": f"Bearer {self._token}"} | ({"Last-Event-ID": last} if last else {})
        with self._connect(_SILENT_S) as connection:
            connection.request("GET", "/v1/events", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                return last
            try:
                while (line := answer.readline().decode()) and not self._ending.is_set():
                    name, _, value = line.strip().partition(": ")
                    if name == "id":
                        last = value
                    if name == "data":
                        self._note(which, json.loads(value))
            except (OSError, http.client.HTTPException):
                return last
        return last

    def _note(self, which: int, jobs: list[dict[str, Any]]) -> None:
        with self._lock:
            self.told.events += 1
            seen = self.told.seen[which]
            for job in jobs:
                done, (state, n_done) = job["units"].get("done", 0), seen.get(job["id"], ("", 0))
                # A unit that is handed back makes a running job wait again; what is done stays so.
                if (state in _ENDED and job["state"] != state) or done < n_done:
                    wrong = f"{job['id'][:12]}, {state}, {n_done} units done, then {job['state']}, {done}"
                    self.told.wrong.append(f"watcher {which}: {wrong}")
                seen[job["id"]] = job["state"], done
