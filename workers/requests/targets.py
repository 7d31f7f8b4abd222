"""Complete and check the name that a result will get, before its job is submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds.parameters import is_digest

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds import JobKind
    from labelgrove.workers.ledger.specs import PlannedJob

__all__ = ["check_named", "complete_target"]


def complete_target(
    workspace: Workspace,
    kind: JobKind,
    plan: PlannedJob,
    given: Mapping[str, Any],
    target: Mapping[str, str] | None,
) -> dict[str, str] | None:
    """Complete `target`, the name that the result of a job will get; return None if `target` is None.

    The kind of the job completes and checks the name. `given` is the request from which `plan` was made. If
    `target` names no ontology, the name of the ontology in `given` is added to it first. It is not added if
    `given` contains a digest in place of the name. Call `check_named` first: it checks that results of the
    kind can have names.

    Raises
    ------
    InputError, NotFoundError
        For a target that the kind refuses.
    """
    if target is None:
        return None
    for name, value in target.items():
        if not isinstance(value, str):
            raise InputError(f"{kind.name}: the target's {name} is {value!r}; give text")
    if kind.complete_target is None:
        return dict(target)
    asked = given.get("ontology")
    named = {"ontology": asked.partition("@")[0]} if isinstance(asked, str) and not is_digest(asked) else {}
    return kind.complete_target(workspace, plan.parameters, {**named, **target})


def check_named(kind: JobKind, target: Mapping[str, str] | None) -> None:
    """Raise `InputError` if a target is given for a kind of job whose results get no names.

    `target` says under which name the result is to be published. If the kind publishes no names, the job
    would never finish waiting for its publication.
    """
    if target is not None and kind.publish is None:
        raise InputError(
            f"results of the kind {kind.name} get no name; leave out the target {dict(target)!r} (--target)"
        )
