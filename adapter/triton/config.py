"""``config.pbtxt``: how Triton is told of a model, of its inputs and outputs, and of a chain of two models.

The text is written by hand, because the schema comes with packages that a model server does not need; a test
reads it with Triton's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.spelling import did_you_mean

__all__ = ["DATATYPES", "OUTPUTS", "After", "TensorSpec", "chain_config", "check_name", "model_config"]

DATATYPES = ("FP16", "FP32", "FP64")
"""The datatypes that the outputs of a model may have."""

OUTPUTS = {"label": "STRING", "name": "STRING", "index": "INT64", "variance": "FP64", "n_tied": "INT64"}
"""The outputs of an exported model, with their datatypes."""

_ANY_DATATYPE = (
    "BOOL",
    *(f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *DATATYPES,
    "BF16",
    "STRING",
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,199}")
_TENSOR = re.compile(r"[\w./:~-]{1,200}", re.ASCII)  # nothing that the text format would have to escape
_OURS = "# Written by `grove export triton`.\n"


@dataclass(frozen=True)
class TensorSpec:
    """An input of a model: its name, its datatype, and its dimensions without that of the batch."""

    name: str
    datatype: str
    dims: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Read ``NAME:DATATYPE:D,D,...``, such as ``images:FP32:3,224,224``; a dimension may be -1.

        Raises
        ------
        InputError
            If the text does not have this form.
        """
        parts = text.rsplit(":", 2)
        if len(parts) != 3 or not _TENSOR.fullmatch(parts[0]):
            raise InputError(f"{text!r:.200} is not an input; give NAME:DATATYPE:D,D,...")
        name, datatype, dims = parts
        if datatype not in _ANY_DATATYPE:
            raise InputError(
                f"{text!r:.200}: {datatype!r} is not a datatype{did_you_mean(datatype, _ANY_DATATYPE)}; give "
                f"one of {', '.join(_ANY_DATATYPE)}"
            )
        if not re.fullmatch(r"(-1|[1-9]\d{0,8})(,(-1|[1-9]\d{0,8}))*", dims, re.ASCII):
            raise InputError(
                f"{text!r:.200}: {dims!r} are not dimensions; give positive numbers, or -1, between commas"
            )
        return cls(name, datatype, tuple(map(int, dims.split(","))))


@dataclass(frozen=True)
class After:
    """The user's model before ours in a chain: its name, the output that we read, and its inputs."""

    model: str
    output: str
    inputs: tuple[TensorSpec, ...]

    def __post_init__(self) -> None:
        check_name("after", self.model)
        if not _TENSOR.fullmatch(self.output):
            raise InputError(f"after: the output {self.output!r:.200} is not the name of a tensor")
        names = [one.name for one in self.inputs]
        if not names:
            raise InputError(
                f"after: no inputs of {self.model} given; name all of them: inputs=... (grove: --after-input)"
            )
        for name in names:
            if names.count(name) > 1 or name in OUTPUTS:
                why = "is an output of the chain" if name in OUTPUTS else "is given twice"
                raise InputError(f"after: the input {name!r} {why}; give inputs of other names")


def check_name(argument: str, name: str) -> None:
    """Refuse what cannot be both a folder and the name of a model.

    Raises
    ------
    InputError
        The message begins with the name of the argument.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{argument}: {name!r:.200} given; the name of a model has at most 200 letters, digits "
            "and . _ ~ -, and begins with a letter or digit"
        )


def model_config(name: str, given: TensorSpec, k: int, max_batch_size: int) -> str:
    """Return the configuration of an exported model, which answers `given` with `k` labels a row."""
    return (
        f'{_OURS}name: "{name}"\nbackend: "python"\nmax_batch_size: {max_batch_size}\n'
        f"{_tensors('input', [given])}{_answers(k)}"
        "dynamic_batching { }\n"
        "instance_group [ { kind: KIND_CPU count: 1 } ]\n"
        "version_policy { latest { num_versions: 1 } }\n"
    )


def chain_config(name: str, after: After, ours: str, reads: str, k: int, max_batch_size: int) -> str:
    """Return the configuration of an ensemble: the user's model, and then ours, which is called `ours`.

    `reads` is the name of the input of our model.
    """
    between = "outputs_of_the_model"
    while between in {one.name for one in after.inputs}:
        between += "_"
    steps = [
        _step(after.model, {one.name: one.name for one in after.inputs}, {after.output: between}),
        _step(ours, {reads: between}, {one: one for one in OUTPUTS}),
    ]
    return (
        f'{_OURS}name: "{name}"\nplatform: "ensemble"\nmax_batch_size: {max_batch_size}\n'
        f"{_tensors('input', after.inputs)}{_answers(k)}"
        f"ensemble_scheduling {{\n{''.join(steps)}}}\n"
    )


def _answers(k: int) -> str:
    described = [TensorSpec(name, kind, (1 if name == "n_tied" else k,)) for name, kind in OUTPUTS.items()]
    return _tensors("output", described)


def _tensors(field: str, described: Sequence[TensorSpec]) -> str:
    return "".join(
        f'{field} {{ name: "{one.name}" data_type: TYPE_{one.datatype} '
        f"dims: [ {', '.join(map(str, one.dims))} ] }}\n"
        for one in described
    )


def _step(model: str, inputs: dict[str, str], outputs: dict[str, str]) -> str:
    maps = [("input_map", inputs), ("output_map", outputs)]
    lines = [
        f'    {field} {{ key: "{key}" value: "{value}" }}\n'
        for field, pairs in maps
        for key, value in pairs.items()
    ]
    return f'  step {{\n    model_name: "{model}"\n    model_version: -1\n{"".join(lines)}  }}\n'
