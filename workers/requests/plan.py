"""From a request to its units: pure, so that the same request is the same job everywhere.

What can change a byte of the result stands in the parameters of a job: digests of ontology and input files,
options, seed and layout, never a name, a date or a number of threads. Their canonical JSON, with the kind and
its version, is the job's key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError

if TYPE_CHECKING:
    from labelgrove.workers.kinds import JobKind

__all__ = [
    "PlannedJob",
    "PlannedUnit",
    "canonical_json",
    "job_parameters",
    "plan_job",
    "recorded_object",
    "unit_request",
]


@dataclass(frozen=True)
class PlannedUnit:
    """One unit: its key and what the key is the digest of."""

    key: str
    stage: int
    spec_json: str


@dataclass(frozen=True)
class PlannedJob:
    """A job and all its units, ready for `Ledger.submit`."""

    id: str
    kind: str
    version: int
    spec_json: str
    units: tuple[PlannedUnit, ...]
    shown: bool = False
    """Whether its result is shown in the graph."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: sorted keys, no spaces, no floats (decimals are given as strings).

    Raises
    ------
    InputError
        For a float or anything else that has no one spelling; the message says where it stands.

    Examples
    --------
    >>> canonical_json({"b": [1, None, "é"], "a": "0.25"})
    '{"a":"0.25","b":[1,null,"é"]}'
    """
    _check(value, "value")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def plan_job(kind: JobKind, parameters: Mapping[str, Any]) -> PlannedJob:
    """Return the job that `parameters` ask of `kind`, with the key of each of its units.

    The artifact of the one unit in the highest stage is the job's result. A unit's key covers the keys of the
    stage before it, so that equal keys mean equal inputs and jobs can share units.

    Raises
    ------
    InputError
        If the kind refuses the parameters or they are not canonical JSON.
    """
    complete = kind.normalise(parameters)
    identity = {"kind": kind.name, "version": kind.version}
    spec_json = canonical_json({"format": "labelgrove/job/1", "parameters": complete, **identity})
    units: list[PlannedUnit] = []
    inputs: list[str] = []
    steps = sorted(kind.plan(complete), key=lambda step: step.stage)
    for stage, members in groupby(steps, key=lambda step: step.stage):
        keys = []
        for step in members:
            unit_json = canonical_json(
                {
                    "format": "labelgrove/unit/1",
                    "parameters": step.parameters,
                    "stage": stage,
                    "inputs": inputs,
                    **identity,
                }
            )
            keys.append(_digest(unit_json))
            units.append(PlannedUnit(keys[-1], stage, unit_json))
        inputs = keys
    if len(inputs) != 1:
        raise InputError(
            f"kind {kind.name!r}: its plan ends in {len(inputs)} units; the last stage must be one unit, "
            "whose artifact is the result"
        )
    return PlannedJob(
        _digest(spec_json), kind.name, kind.version, spec_json, tuple(units), shown=kind.show is not None
    )


def unit_request(spec_json: str) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of a unit and the keys of its inputs, as `plan_job` wrote them.

    Raises
    ------
    InputError
        For any other text.
    """
    parameters, inputs = _read(spec_json, "unit", "parameters", "inputs")
    listed = isinstance(inputs, list) and all(isinstance(key, str) for key in inputs)
    if not (isinstance(parameters, dict) and listed):
        raise _not_planned(spec_json, "unit", "parameters", "inputs")
    return parameters, inputs


def job_parameters(spec_json: str) -> dict[str, Any]:
    """Return the parameters of a job, as `plan_job` wrote them.

    Raises
    ------
    InputError
        For any other text.
    """
    (parameters,) = _read(spec_json, "job", "parameters")
    if not isinstance(parameters, dict):
        raise _not_planned(spec_json, "job", "parameters")
    return parameters


def recorded_object(column: str, text: str) -> dict[str, Any]:
    """Return the JSON object that a column of the database holds; `InputError` for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"{column} is {text:.60}, expected a JSON object; somebody edited the database or damaged it: "
            "ask again, or restore a backup"
        )
    return found


def _read(spec_json: str, of: str, *names: str) -> list[Any]:
    try:
        spec = json.loads(spec_json)
        return [spec[name] for name in names]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _not_planned(spec_json, of, *names) from error


def _not_planned(spec_json: str, of: str, *names: str) -> InputError:
    return InputError(
        f"the ledger says {spec_json:.60} of the {of}, expected a JSON object with {' and '.join(names)}; "
        "somebody edited the database or damaged it: restore a backup"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for name, entry in value.items():
            if not isinstance(name, str):
                raise InputError(f"{where}: key {name!r} is of type {type(name).__name__}; keys are strings")
            _check(name, f"{where}: key")
            _check(entry, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            _check(entry, f"{where}[{i}]")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{where}: {value!r} holds a lone surrogate, which has no UTF-8 form") from None
    elif value is not None and type(value) not in (bool, int):
        hint = "; write a decimal number as a string" if isinstance(value, float) else ""
        raise InputError(f"{where}: {value!r} of type {type(value).__name__} has no canonical JSON{hint}")
