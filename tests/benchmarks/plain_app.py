"""The service that a user writes in an afternoon: FastAPI, dictionaries and numpy, over the same hierarchy.

    python -m tests.benchmarks.plain_app EDGES.npz

It keeps everything in memory: names in a list that a search goes through, parents and children in
dictionaries, and the squared distances between all labels and the classes of the model in one array. It
prints its port once it answers.
"""

from __future__ import annotations

import socket
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

MOST = 10


class Rows(BaseModel):
    """Probabilities of the classes."""

    rows: list[list[float]]


def make_app(path: str) -> FastAPI:
    """Return the application over a file with keys, names, edges and squared distances."""
    with np.load(path) as held:
        keys, names = held["keys"].tolist(), held["names"].tolist()
        edges, squares = held["edges"].tolist(), held["squares"]
    place = {key: i for i, key in enumerate(keys)}
    folded = [name.lower() for name in names]
    children, parents = defaultdict(list), defaultdict(list)
    for child, parent in edges:
        children[parent].append(child)
        parents[child].append(parent)
    app = FastAPI()

    def item(label: int) -> dict[str, str]:
        return {"key": keys[label], "name": names[label]}

    @app.get("/suggest")
    def suggest(q: str) -> dict[str, Any]:
        text, found = q.lower(), []
        for label, name in enumerate(folded):
            if name.startswith(text):
                found.append(item(label))
                if len(found) == MOST:
                    break
        return {"items": found}

    @app.get("/label")
    def label(key: str) -> dict[str, Any]:
        found, path = place[key], []
        at = found
        while parents[at]:
            at = parents[at][0]
            path.append(item(at))
        return item(found) | {"path": path, "parents": [item(one) for one in parents[found]]}

    @app.get("/children")
    def children_of(key: str) -> dict[str, Any]:
        return {"items": [item(one) for one in children[place[key]]]}

    @app.post("/score")
    def score(given: Rows) -> dict[str, Any]:
        variances = np.array(given.rows, dtype=np.float32) @ squares
        best = variances.argmin(axis=1)
        return {"items": [item(label) for label in best.tolist()]}

    return app


if __name__ == "__main__":
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    bound.listen(1_024)
    app = make_app(sys.argv[1])
    print(bound.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[bound])
