"""Turn a request into units, without side effects, so that the same request is the same job everywhere.

Everything that can change a byte of the result is a parameter of the job: digests of ontology and input
files, options, seed and layout. Names, dates and numbers of threads are not. The job's key is computed from
the canonical JSON of the parameters, the kind and its version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError
from labelgrove.workers.ledger.specs import PlannedJob, PlannedUnit, canonical_json

if TYPE_CHECKING:
    from labelgrove.workers.kinds import JobKind, Subject

__all__ = ["plan_job"]


def plan_job(kind: JobKind, given: Mapping[str, Any], subject: Subject | None = None) -> PlannedJob:
    """Return the job that `given` requests from `kind`, with the key of each of its units.

    This is the one place where parameters are checked and completed. The units of a job
    form stages, one computed after the other. The last stage has one unit, whose artifact is the result of
    the job. The key of a unit is computed from its parameters and from the keys of all units of the stage
    before. Therefore units with equal keys have equal inputs, and jobs can share
    such units.

    Parameters
    ----------
    kind : JobKind
    given : mapping
        The parameters of the job, with digests already in place of names, files and lists of labels.
    subject : Subject, optional
        What the request is about, if known; parameters that depend on its size are filled in.

    Raises
    ------
    InputError
        If the kind refuses the parameters, or if they cannot be written as canonical JSON.
    """
    complete = kind.complete(given, subject)
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
        _digest(spec_json),
        kind.name,
        kind.version,
        spec_json,
        tuple(units),
        parameters=complete,
        shown=kind.show is not None,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
