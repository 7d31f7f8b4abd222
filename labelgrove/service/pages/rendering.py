"""Draw pages from templates, and show problems as pages too."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from labelgrove.ontology.errors import GroveError, InputError, counted, sized
from labelgrove.service.access.identity import actor_of
from labelgrove.service.access.sessions import COOKIE
from labelgrove.service.assets import ASSETS
from labelgrove.service.caching import ASK
from labelgrove.service.problems import Problem, problem_document, problem_of

__all__ = ["PageRoute", "body_of", "command", "document_of", "render", "url"]

Body = TypeVar("Body", bound=BaseModel)

_UNITS = (
    ("year", 31_557_600),
    ("month", 2_629_800),
    ("week", 604_800),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
)


def url(*path: str, **query: object) -> str:
    """Return the address of a page or route; entries of the query that are None are left out.

    >>> url("o", "garden", key="a/b?c", version=None)
    '/o/garden?key=a%2Fb%3Fc'
    """
    given = {name.rstrip("_"): value for name, value in query.items() if value is not None}
    address = "/" + "/".join(quote(part, safe="") for part in path)
    return f"{address}?{urlencode(given, quote_via=quote, safe='')}" if given else address


def command(*words: str) -> str:
    """Return a command line, quoted for a shell.

    >>> command("labels", "show", "garden", "red oak")
    "grove labels show garden 'red oak'"
    """
    return "grove " + " ".join(map(shlex.quote, words))


def _thousands(number: int) -> str:
    return f"{number:,}"


def _ago(text: str) -> str:
    """Return how long ago a time of a document was, roughly.

    >>> _ago("2020-01-01T00:00:00Z").endswith(" years ago")
    True
    """
    seconds = (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()
    for name, unit_s in _UNITS:
        if seconds >= unit_s:
            return f"{counted(int(seconds // unit_s), name)} ago"
    return "just now"


def _indented(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _cell(value: object) -> str:
    """Return a value of a table as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(value, ensure_ascii=False, default=str)


def _coded(text: str) -> Markup:
    """Return a text in which what is between backticks is shown as code."""
    parts = [escape(part) for part in text.replace("``", "`").split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)
    )


def _duration(seconds: float) -> str:
    """Return a number of seconds for people.

    >>> _duration(0.0123), _duration(75.2), _duration(9_000)
    ('0.012 s', '75 s', '2.5 h')
    """
    if seconds < 1:
        return f"{seconds:.2g} s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:,.0f} s" if seconds < 3 * 3_600 / 2 else f"{seconds / 3_600:,.1f} h"


_environment = Environment(
    loader=PackageLoader("labelgrove.service", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {
    "ago": _ago,
    "thousands": _thousands,
    "indented": _indented,
    "cell": _cell,
    "coded": _coded,
    "duration": _duration,
    "sized": sized,
}
_environment.globals |= {"url": url, "counted": counted, "assets": ASSETS}


def render(
    request: Request,
    template: str,
    *,
    title: str,
    section: str = "",
    status: int = HTTPStatus.OK,
    twin: str | None = None,
    ontology: str | None = None,
    **values: Any,
) -> Response:
    """Return a page.

    Parameters
    ----------
    request : Request
    template : str
        Name of a file in ``templates``.
    title : str
    section : str
        The entry of the navigation to which the page belongs.
    status : int
    twin : str, optional
        Address of the same content as JSON.
    ontology : str, optional
        Name of the ontology that the page is about.
    **values
        What the template uses.
    """
    shared = {
        "title": title,
        "section": section,
        "twin": twin,
        "ontology": ontology,
        "pinned": request.query_params.get("version"),
        "query": request.query_params.get("q", ""),
        "digest": None,
        "tag": None,
        "marked": None,
        "actor": actor_of(request),
        "has_session": COOKIE in request.cookies,
        "here": _here(request),
    }
    page = _environment.get_template(template).render(shared | values)
    return HTMLResponse(page, status_code=status, headers={"Cache-Control": ASK})


def _here(request: Request) -> str:
    """Return the address of a page on this service."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def body_of(kind: type[Body], /, **fields: Any) -> Body:
    """Return the body that a route takes, made from the fields of a form.

    Raises
    ------
    InputError
        If the route would refuse it.
    """
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]}: {first['msg']}; correct it and send it again") from None


def document_of(response: Response) -> Any:
    """Return the document that a route answered."""
    return json.loads(bytes(response.body))


class PageRoute(APIRoute):
    """A route that answers errors with a page, or sends whoever is not signed in to the page for that."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route, in which errors become pages."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except (GroveError, Problem, RequestValidationError, HTTPException) as error:
                problem = problem_of(error)
                if problem.status == HTTPStatus.UNAUTHORIZED and request.method in ("GET", "HEAD"):
                    address = url("sign-in", next=_here(request))
                    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)
                return _problem_page(request, problem)

        return handled


def _problem_page(request: Request, problem: Problem) -> Response:
    document: Mapping[str, Any] = problem_document(problem)
    page = render(
        request, "problem.html", title=document["title"], status=int(problem.status), problem=document
    )
    page.headers.update(problem.headers)
    return page
