"""The page for Cypher: the recipes of the cookbook as forms, and a console."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from labelgrove.documents.ontologies import current_versions
from labelgrove.documents.recipes import recipes
from labelgrove.ontology.errors import GroveError, InputError, NotFoundError
from labelgrove.service.access.identity import needs
from labelgrove.service.pages.rendering import PageRoute, body_of, command, document_of, render
from labelgrove.service.problems import problem_document, problem_of
from labelgrove.service.routes import queries
from labelgrove.service.state import Shared

__all__ = ["router"]

router = APIRouter(
    prefix="/cypher", route_class=PageRoute, include_in_schema=False, dependencies=[needs("query")]
)

_FIRST = (
    "MATCH (l:Label {version: $version})\nRETURN l.key AS key, l.name AS name, l.depth AS depth\nLIMIT 20"
)


@router.get("")
def show(request: Request, shared: Shared, recipe: str | None = None, ontology: str = "") -> Response:
    """Show the console, filled with a recipe if one is named."""
    statement, parameters = (_FIRST, "") if recipe is None else _recipe(recipe)
    return _page(request, shared, statement, parameters, ontology, None)


@router.post("")
def run(
    request: Request,
    shared: Shared,
    statement: Annotated[str, Form()],
    parameters: Annotated[str, Form()] = "",
    ontology: Annotated[str, Form()] = "",
) -> Response:
    """Run the statement as the route does, and show its rows."""
    try:
        given = _parameters(parameters)
        query = body_of(queries.Query, statement=statement, ontology=ontology or None, parameters=given)
        outcome = document_of(queries.cypher(shared, query))
    except GroveError as error:
        outcome = {"problem": problem_document(problem_of(error))}
    return _page(request, shared, statement, parameters, ontology, outcome)


def _recipe(name: str) -> tuple[str, str]:
    for recipe in recipes():
        if recipe.name == name:
            return recipe.statement, json.dumps(dict(recipe.parameters)) if recipe.parameters else ""
    raise NotFoundError(f"recipe {name!r:.80}: there is none of this name; see /v1/recipes")


def _parameters(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(
            f'parameters: not JSON ({error}); write an object such as {{"key": "oak"}}'
        ) from error
    if not isinstance(found, dict):
        raise InputError(f'parameters: {text!r:.80} given; write an object such as {{"key": "oak"}}')
    return found


def _page(
    request: Request,
    shared: Shared,
    statement: str,
    parameters: str,
    ontology: str,
    outcome: dict[str, Any] | None,
) -> Response:
    names = [version["ontology"] for version in current_versions(shared.workspace)]
    chosen = ontology or (names[0] if names else "")
    typed = ["cypher", *(["--ontology", chosen] if chosen else []), statement]
    return render(
        request,
        "cypher.html",
        title="Cypher",
        section="cypher",
        twin="/v1/recipes",
        cli=command(*typed),
        recipes=recipes(),
        statement=statement,
        parameters=parameters,
        names=names,
        chosen=chosen,
        outcome=outcome,
        limits=shared.limits,
    )
