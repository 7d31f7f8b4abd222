"""Pages that begin and end a session: who pastes a token gets a cookie in its place."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from labelgrove.service.access.audit import SIGNING_IN
from labelgrove.service.access.identity import Identity, actor_of
from labelgrove.service.access.sessions import COOKIE, keep
from labelgrove.service.pages.rendering import PageRoute, render

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_NOT_KEPT = {"Cache-Control": "no-store"}
_LONGEST = 2_000

Next = Annotated[str, Query(alias="next", max_length=_LONGEST)]


@router.get("/sign-in")
def show(request: Request, next_: Next = "/") -> Response:
    """Show the form for a token."""
    return _page(request, next_, refused=False)


@router.post("/sign-in")
def sign_in(
    request: Request,
    token: Annotated[str, Form(max_length=_LONGEST)] = "",
    next_: Annotated[str, Form(alias="next", max_length=_LONGEST)] = "/",
) -> Response:
    """Begin a session for a token."""
    identity: Identity = request.app.state.identity
    request.state.needed = SIGNING_IN
    begun = identity.sign_in(token.strip())
    if begun is None:
        return _page(request, next_, refused=True)
    session, request.state.actor = begun
    answer = RedirectResponse(_here(next_), status_code=HTTPStatus.SEE_OTHER, headers=_NOT_KEPT)
    keep(request, answer, session)
    return answer


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """End the session of this browser."""
    request.state.needed = SIGNING_IN
    answer = RedirectResponse("/sign-in", status_code=HTTPStatus.SEE_OTHER, headers=_NOT_KEPT)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _here(address: str) -> str:
    """Return an address on this service: the first page in place of any other."""
    inside = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if inside and address.isprintable() else "/"


def _page(request: Request, next_: str, *, refused: bool) -> Response:
    status = HTTPStatus.UNAUTHORIZED if refused else HTTPStatus.OK
    answer = render(
        request,
        "sign-in.html",
        title="Sign in",
        status=status,
        next=_here(next_),
        actor=actor_of(request),
        refused=refused,
    )
    answer.headers.update(_NOT_KEPT)
    return answer
