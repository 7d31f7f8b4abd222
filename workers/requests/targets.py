"""The name that a result shall have: completed and checked before its job is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds.parameters import is_digest
from labelgrove.workers.requests.request import kind_named

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.requests.plan import PlannedJob

__all__ = ["check_named", "complete_target"]


def complete_target(
    workspace: Workspace, plan: PlannedJob, given: Mapping[str, Any], target: Mapping[str, str] | None
) -> dict[str, str] | None:
    """Return the target that is meant, None where none is given.

    Where the request `given`, of which `plan` was made, calls its ontology by name, the target means that
    name unless it says otherwise.

    Raises
    ------
    InputError, NotFoundError
        For a target that the kind refuses, and for any target of a kind that names nothing.
    """
    if target is None:
        return None
    check_named(plan.kind, target)
    for name, value in target.items():
        if not isinstance(value, str):
            raise InputError(f"{plan.kind}: the target's {name} is {value!r}; give a text")
    kind = kind_named(plan.kind)
    if kind.complete_target is None:
        return dict(target)
    asked = given.get("ontology")
    named = {"ontology": asked.partition("@")[0]} if isinstance(asked, str) and not is_digest(asked) else {}
    return kind.complete_target(workspace, json.loads(plan.spec_json)["parameters"], {**named, **target})


def check_named(kind: str, target: Mapping[str, str] | None) -> None:
    """Refuse a target where the results of a kind get no name: it would be waited for for ever."""
    if target is not None and kind_named(kind).publish is None:
        raise InputError(f"{kind} names no result; leave out the target {dict(target)!r} (--target)")
