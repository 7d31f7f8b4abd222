"""A model server of the Open Inference Protocol with one linear model: the first one of a chain.

    python -m tests.integration.first_model_app WEIGHTS.npy

It takes and gives tensors in binary, and prints its port once it listens.
"""

from __future__ import annotations

import json
import socket
import sys

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import Response

LENGTH = "Inference-Header-Content-Length"


def make_app(weights: np.ndarray) -> FastAPI:
    """Return a server of the model ``linear``: features times `weights` are its logits."""
    app = FastAPI()

    @app.post("/v2/models/linear/infer")
    async def infer(request: Request) -> Response:
        body, length = await request.body(), int(request.headers[LENGTH])
        (tensor,) = json.loads(body[:length])["inputs"]
        logits = np.frombuffer(body[length:]).reshape(tensor["shape"]) @ weights
        answered = {"name": "logits", "datatype": "FP64", "shape": list(logits.shape)}
        answered["parameters"] = {"binary_data_size": logits.nbytes}
        head = json.dumps({"model_name": "linear", "outputs": [answered]}).encode()
        media = "application/octet-stream"
        return Response(head + logits.tobytes(), headers={LENGTH: str(len(head))}, media_type=media)

    return app


def main() -> None:
    """Serve until the process is ended."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(bound.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(make_app(np.load(sys.argv[1])), log_level="warning")).run([bound])


if __name__ == "__main__":
    main()
