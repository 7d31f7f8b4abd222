"""Run Python models as Triton's Python backend does, without a server.

Configurations are read with the schema that Triton's client ships. `_Backend` has the part of Triton's
module ``triton_python_backend_utils`` that models use. What the server enforces is checked: the sizes of
batches, and the names, datatypes and shapes of outputs as the configuration states them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from google.protobuf import json_format, text_format
from numpy.typing import NDArray

__all__ = ["PythonModel", "Refused", "read_config", "run_chain"]

_DTYPES = {
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_INT64": np.int64,
    "TYPE_STRING": np.object_,
}


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The package around it asks for gRPC, which nothing here needs.
_schema = _load(
    "triton_model_config_pb2",
    Path(str(distribution("tritonclient").locate_file("tritonclient/grpc/model_config_pb2.py"))),
)


def read_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a model as Triton gives it to Python models."""
    parsed = text_format.Parse((folder / "config.pbtxt").read_text(), _schema.ModelConfig())
    return json_format.MessageToDict(parsed, preserving_proto_field_name=True)


class Refused(Exception):
    """What a client sees of a `TritonError`."""


class _TritonError:
    INVALID_ARG, INTERNAL = "INVALID_ARG", "INTERNAL"

    def __init__(self, message: str, code: str = INTERNAL) -> None:
        assert code in (self.INVALID_ARG, self.INTERNAL)
        self._message, self._code = message, code

    def message(self) -> str:
        return self._message

    def code(self) -> str:
        return self._code


class _Tensor:
    def __init__(self, name: str, values: NDArray[Any]) -> None:
        self._name, self._values = name, np.ascontiguousarray(values)

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> NDArray[Any]:
        return self._values


class _Request:
    def __init__(self, tensors: Sequence[_Tensor], wanted: Sequence[str]) -> None:
        self._tensors, self._wanted = list(tensors), list(wanted)

    def inputs(self) -> list[_Tensor]:
        return self._tensors

    def requested_output_names(self) -> list[str]:
        return self._wanted


class _Response:
    def __init__(self, output_tensors: Sequence[_Tensor] = (), error: _TritonError | None = None) -> None:
        self.tensors, self.error = list(output_tensors), error


def _named(described: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    return next((one for one in described if one["name"] == name), None)


class _Backend(ModuleType):
    def __init__(self) -> None:
        super().__init__("triton_python_backend_utils")
        self.Tensor, self.InferenceResponse, self.TritonError = _Tensor, _Response, _TritonError

    def get_input_tensor_by_name(self, request: _Request, name: str) -> _Tensor | None:
        return next((one for one in request.inputs() if one.name() == name), None)

    def get_output_config_by_name(self, config: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
        return _named(config["output"], name)


class PythonModel:
    """A version of a Python model in a repository, loaded.

    Parameters
    ----------
    folder : Path
        Folder of the model.
    version : int, optional
        The version; by default the highest, as the policy ``latest`` says.
    """

    def __init__(self, folder: Path, version: int | None = None) -> None:
        self.config = read_config(folder)
        assert self.config["name"] == folder.name
        assert self.config["backend"] == "python"
        if version is None:
            assert self.config["version_policy"] == {"latest": {"num_versions": 1}}
            version = max(int(one.name) for one in folder.iterdir() if one.name.isdigit())
        sys.modules["triton_python_backend_utils"] = _Backend()
        self._model = _load("model", folder / str(version) / "model.py").TritonPythonModel()
        arguments = {
            "model_config": json.dumps(self.config),
            "model_instance_kind": "CPU",
            "model_instance_device_id": "0",
            "model_repository": str(folder),
            "model_version": str(version),
            "model_name": folder.name,
        }
        self._model.initialize(arguments)

    def infer(
        self, *batches: NDArray[Any], wanted: Sequence[str] | None = None
    ) -> list[dict[str, Any] | Refused]:
        """Send requests that the server has put together, and return the outputs or the error of each."""
        (given,) = self.config["input"]
        names = [one["name"] for one in self.config["output"]] if wanted is None else list(wanted)
        assert sum(map(len, batches)) <= self.config["max_batch_size"]
        for batch in batches:
            assert batch.dtype == _DTYPES[given["data_type"]]
        requests = [_Request([_Tensor(given["name"], batch)], names) for batch in batches]
        responses = self._model.execute(requests)
        assert len(responses) == len(requests)
        return [
            self._checked(response, len(batch)) for response, batch in zip(responses, batches, strict=True)
        ]

    def _checked(self, response: _Response, n_rows: int) -> dict[str, Any] | Refused:
        if response.error is not None:
            return Refused(response.error.code(), response.error.message())
        found = {}
        for tensor in response.tensors:
            described, values = _named(self.config["output"], tensor.name()), tensor.as_numpy()
            assert described is not None
            assert values.dtype == _DTYPES[described["data_type"]]
            assert values.shape == (n_rows, *map(int, described["dims"]))
            assert values.dtype != np.object_ or all(isinstance(one, (str, bytes)) for one in values.flat)
            found[tensor.name()] = values
        return found


def run_chain(folder: Path, models: Mapping[str, Any], **inputs: NDArray[Any]) -> dict[str, Any]:
    """Run an ensemble: `models` are functions of named arrays that return named arrays.

    Every tensor is checked against the configuration of the chain.
    """
    config = read_config(folder)
    assert config["platform"] == "ensemble"
    assert not any((folder / "1").iterdir())
    assert inputs.keys() == {one["name"] for one in config["input"]}
    known: dict[str, Any] = dict(inputs)
    for step in config["ensemble_scheduling"]["step"]:
        assert step["model_version"] == "-1"
        answered = models[step["model_name"]](
            **{theirs: known[ours] for theirs, ours in step["input_map"].items()}
        )
        for theirs, ours in step["output_map"].items():
            assert ours not in known
            known[ours] = answered[theirs]
    return {one["name"]: known[one["name"]] for one in config["output"]}
