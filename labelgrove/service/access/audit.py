"""Log one line for each request that changes something, or that tries to: who, what, and how it ended.

A line has nothing secret: no token, no cookie, no query and no body.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from starlette.types import Scope

if TYPE_CHECKING:
    from labelgrove.service.access.identity import Actor

__all__ = ["SIGNING_IN", "record"]

logger = logging.getLogger(__name__)

SIGNING_IN = "sign-in"
"""What routes that begin or end a session state as the scope that they need."""

_CHANGING = ("work", "admin", SIGNING_IN)
_JOBS = "/v1/jobs/"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST = 80


def record(scope: Scope, status: int, location: str) -> None:
    """Log a request after its answer has begun, if its route may change something.

    Parameters
    ----------
    scope : dict
        The ASGI scope, in whose ``state`` are the actor and the scope that the route needs.
    status : int
    location : str
        The header ``Location`` of the answer: of a new job, it is its address.
    """
    state = scope["state"]
    needed = state.get("needed")
    if needed not in _CHANGING:
        return
    actor: Actor = state["actor"]
    asked = scope.get("path_params", {})
    template = getattr(scope.get("route"), "path", "")
    fields = {
        "actor": actor.name,
        "scope": needed,
        "route": f"{scope['method']} {template}",
        "ontology": _named(asked.get("ontology")),
        "job": state.get("job") or _named(asked.get("job")) or _job_at(location),
        "status": status,
    }
    told = {name: value for name, value in fields.items() if value is not None}
    logger.info("request: %s", " ".join(f"{name}={value}" for name, value in told.items()), extra=told)


def _named(text: str | None) -> str | None:
    """Return a name from a path; what is not a name is quoted, because a line break would begin a line."""
    return text if text is None or _NAME.fullmatch(text) else ascii(text[:_LONGEST])


def _job_at(location: str) -> str | None:
    return location.removeprefix(_JOBS) if location.startswith(_JOBS) else None
