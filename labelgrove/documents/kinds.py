"""Describe the kinds of jobs, their parameters, and what a job would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.parameters import Parameter

__all__ = ["describe_estimate", "describe_kinds", "describe_parameter"]


def describe_kinds() -> list[dict[str, Any]]:
    """Return each kind of job with its parameters."""
    from labelgrove.workers.kinds import known_kinds

    return [
        {
            "kind": kind.name,
            "version": kind.version,
            "queue": kind.queue,
            "named": kind.publish is not None,
            "parameters": [describe_parameter(parameter) for parameter in kind.parameters],
        }
        for kind in known_kinds()
    ]


def describe_parameter(parameter: Parameter) -> dict[str, Any]:
    """Return one parameter; ``default`` is None for one that is required."""
    from labelgrove.workers.kinds.parameters import REQUIRED

    required = parameter.default is REQUIRED
    return {
        "name": parameter.name,
        "required": required and not parameter.filled,
        "default": None if required else parameter.default,
        "values": parameter.values,
    }


def describe_estimate(workspace: Workspace, kind: str, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a job would need, and ``free_bytes`` of the store; None if the kind makes no estimate.

    Raises
    ------
    GroveError
        As for `labelgrove.workers.client.submit`.
    """
    from labelgrove.workers import client
    from labelgrove.workers.kinds import kind_named
    from labelgrove.workers.requests.request import complete_request

    found = client.estimate(workspace, kind, complete_request(workspace, kind_named(kind), asked))
    return None if found is None else asdict(found) | {"free_bytes": client.free_bytes(workspace)}
