"""The model that Triton's Python backend runs: outputs of a model in, labels out.

The file ``model.py`` of a repository that `labelgrove.adapter.triton.repository` wrote imports this class.
Triton's own module ``triton_python_backend_utils`` exists only in the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.scorer import Adapter
from labelgrove.adapter.triton.repository import ADAPTER_FOLDER
from labelgrove.ontology.errors import GroveError, InputError

__all__ = ["TritonPythonModel"]


class TritonPythonModel:
    """Answers requests from the adapter in the folder of the model's version; Triton calls the methods."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the adapter, and prepare it so that the first request takes no longer than others.

        The configuration of the model says how the input is called, and how many answers each row gets: the
        dimension of the output ``label``.
        """
        import triton_python_backend_utils as backend

        config = json.loads(args["model_config"])
        self._input: str = config["input"][0]["name"]
        self._outputs: list[str] = [output["name"] for output in config["output"]]
        shape = backend.get_output_config_by_name(config, "label")["dims"]
        self._k = int(shape[0])
        folder = Path(args["model_repository"]) / args["model_version"] / ADAPTER_FOLDER
        self._adapter = Adapter.from_pretrained(folder).warm(self._k)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer each request by itself, so that a wrong row refuses no other request of the batch."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        import triton_python_backend_utils as backend

        try:
            found = self._tensors(backend.get_input_tensor_by_name(request, self._input))
        except GroveError as error:
            code = backend.TritonError.INVALID_ARG if isinstance(error, InputError) else None
            told = [str(error)] if code is None else [str(error), code]
            return backend.InferenceResponse(error=backend.TritonError(*told))
        wanted = set(request.requested_output_names())
        return backend.InferenceResponse(
            output_tensors=[backend.Tensor(name, found[name]) for name in self._outputs if name in wanted]
        )

    def _tensors(self, given: Any) -> dict[str, NDArray[Any]]:
        """Return all outputs, each with a row for each row of the input."""
        adapter = self._adapter
        ranking = adapter.top_k(given.as_numpy(), self._k)
        shape = ranking.indices.shape
        return {
            "label": _texts(shape, adapter.keys.take(ranking.indices.ravel())),
            "name": _texts(shape, adapter.names.take(ranking.indices.ravel())),
            "index": ranking.indices,
            "variance": ranking.values,
            "n_tied": ranking.n_tied[:, None],
        }


def _texts(shape: tuple[int, ...], texts: Iterable[str]) -> NDArray[Any]:
    """Return texts as Triton takes them: objects, in UTF-8."""
    values = np.empty(shape, dtype=object)
    values.ravel()[:] = [text.encode() for text in texts]
    return values
