"""The reference of the routes, made from the OpenAPI document, with every type of problem."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from labelgrove.service.pages.rendering import PageRoute, render
from labelgrove.service.problems import PROBLEMS

__all__ = ["PROBLEM_TYPES", "router"]

router = APIRouter(prefix="/reference", route_class=PageRoute, include_in_schema=False)

_FURTHER = (
    ("host", HTTPStatus.MISDIRECTED_REQUEST, "The header Host does not name this service."),
    ("origin", HTTPStatus.FORBIDDEN, "A page of another site sent a request that changes something."),
    ("http", HTTPStatus.BAD_REQUEST, "What was sent is not a request of HTTP/1.1."),
    ("body", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is larger than the limit."),
    ("busy", HTTPStatus.SERVICE_UNAVAILABLE, "Too many uploads, or requests for scores, wait already."),
    ("encoding", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body of a request for scores is compressed."),
    ("slow", HTTPStatus.REQUEST_TIMEOUT, "A request arrives too slowly."),
    ("tensor", HTTPStatus.BAD_REQUEST, "A request of the inference protocol breaks a rule."),
    ("too-long", HTTPStatus.UNPROCESSABLE_ENTITY, "Reading an upload took too long."),
    ("reader-ended", HTTPStatus.UNPROCESSABLE_ENTITY, "The process that read an upload ended."),
    ("rate", HTTPStatus.TOO_MANY_REQUESTS, "A client sent too many requests in a second."),
    ("not-signed-in", HTTPStatus.UNAUTHORIZED, "This needs a token or session with a scope."),
    ("scope", HTTPStatus.FORBIDDEN, "The token or session lacks the scope that this needs."),
    ("proxy", HTTPStatus.BAD_REQUEST, "The header of the proxy is malformed, or comes from elsewhere."),
    ("link", HTTPStatus.GONE, "A link to sign in was used before, or is too old."),
    ("method-not-allowed", HTTPStatus.METHOD_NOT_ALLOWED, "The route does not answer this method."),
    ("bug", HTTPStatus.INTERNAL_SERVER_ERROR, "The service failed; its log has the details."),
)

PROBLEM_TYPES: tuple[tuple[str, int, str], ...] = (
    *((name, int(status), (kind.__doc__ or "").partition("\n")[0]) for kind, name, status, _ in PROBLEMS),
    *((name, int(status), says) for name, status, says in _FURTHER),
)
"""Name, status and meaning of each type of problem; the page has an anchor for each."""


@router.get("")
def reference(request: Request) -> Response:
    """Show every route and every type of problem."""
    document = request.app.openapi()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            groups.setdefault((route.get("tags") or ["other"])[0], []).append(_route(method, path, route))
    return render(
        request,
        "reference.html",
        title="Reference",
        section="reference",
        twin="/openapi.json",
        groups=groups,
        problems=PROBLEM_TYPES,
        release=document["info"]["version"],
    )


def _route(method: str, path: str, route: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {
            "name": one["name"],
            "place": one["in"],
            "required": one.get("required", False),
            "type": _type(one.get("schema", {})),
            "default": one.get("schema", {}).get("default"),
            "says": one.get("description", ""),
        }
        for one in route.get("parameters", [])
    ]
    return {
        "method": method.upper(),
        "path": path,
        "id": route["operationId"],
        "says": route.get("description") or route.get("summary", ""),
        "parameters": parameters,
        "body": ", ".join(route.get("requestBody", {}).get("content", {})),
        "answers": sorted(code for code in route["responses"] if code < "400"),
    }


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    return str(schema.get("type", "object"))
