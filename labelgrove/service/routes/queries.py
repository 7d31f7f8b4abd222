"""Routes that run Cypher, read-only, and list the recipes of the cookbook."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from labelgrove.documents.recipes import recipes
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.state import Shared

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["cypher"], dependencies=[needs("query")])


class Query(BaseModel):
    """A statement with the values of its parameters."""

    statement: Annotated[str, Field(max_length=20_000, examples=["MATCH (v:Version) RETURN v.digest"])]
    ontology: Annotated[str | None, Field(description="Bind $version to a version of this ontology.")] = None
    version: Annotated[str | None, Field(description="The beginning of its digest.")] = None
    parameters: dict[str, Any] = {}
    max_rows: Annotated[int | None, Field(ge=1)] = None
    timeout_s: Annotated[float | None, Field(gt=0)] = None


@router.post("/cypher", responses=schemas.ok(schemas.CypherRows))
def cypher(shared: Shared, query: Query) -> Response:
    """Run one read-only statement on the graph, within limits of time and rows."""
    bound = dict(query.parameters)
    if query.ontology is not None:
        bound["version"] = shared.workspace.catalog.version(query.ontology, query.version).digest
    limits = shared.limits
    rows = shared.workspace.graph.run_user(
        query.statement,
        bound,
        timeout_s=min(query.timeout_s or limits.cypher_s, limits.cypher_s),
        max_rows=min(query.max_rows or limits.cypher_rows, limits.cypher_rows),
    )
    return JSONResponse({"columns": rows.columns, "rows": rows.rows, "truncated": rows.truncated})


@router.get("/recipes", responses=schemas.ok(schemas.RecipeList))
def list_recipes() -> schemas.RecipeList:
    """Return the recipes of the Cypher cookbook."""
    items = [
        {"name": r.name, "title": r.title, "statement": r.statement, "parameters": dict(r.parameters)}
        for r in recipes()
    ]
    return schemas.RecipeList.model_validate({"items": items, "total": len(items)})
