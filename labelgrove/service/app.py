"""Put the service together: routes, pages, guards and problems, around one workspace."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

import labelgrove
from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service import schemas
from labelgrove.service.guards import LOOPBACK_NAMES, Guards
from labelgrove.service.identity import Owner
from labelgrove.service.limits import Limits
from labelgrove.service.marking import MarkedResults
from labelgrove.service.openversions import OpenVersions
from labelgrove.service.pages import cypher, explore, home, ingest, reference
from labelgrove.service.pages import jobs as job_pages
from labelgrove.service.problems import Problem, problem_response
from labelgrove.service.reading import UploadReader
from labelgrove.service.routes import (
    bundles,
    drawing,
    inference,
    jobs,
    labels,
    ontologies,
    queries,
    service,
    uploads,
)
from labelgrove.service.scoring.models import Models
from labelgrove.service.scoring.scorers import Scorers
from labelgrove.service.state import State

__all__ = ["make_app"]

_SHORTEST_ZIPPED = 1_000
_FASTEST = 1


def make_app(
    workspace: Workspace, limits: Limits | None = None, *, hosts: Collection[str] = LOOPBACK_NAMES
) -> FastAPI:
    """Return the application that serves a workspace.

    Parameters
    ----------
    workspace : Workspace
        Closed when the application ends.
    limits : Limits, optional
    hosts : collection of str
        The names that requests may give this host.
    """
    limits = limits or Limits()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with workspace, shared.scorers:
            yield

    app = FastAPI(
        title="labelgrove",
        version=labelgrove.__version__,
        description="Browse and search label hierarchies, ingest them, and read results.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    shared = State(
        workspace,
        OpenVersions(workspace, limits.open_versions),
        limits,
        MarkedResults(workspace),
        UploadReader(workspace.settings, limits),
        Models(workspace, limits.open_bundles),
        Scorers(os.cpu_count() or 1, limits.scores_waiting, limits.body_s),
    )
    app.state.shared = shared
    app.state.owner = Owner(workspace.settings.home)
    for routes in (service, ontologies, labels, drawing, jobs, queries, uploads, bundles, inference):
        app.include_router(routes.router)
    for pages in (home, explore, job_pages, ingest, cypher, reference):
        app.include_router(pages.router)
    static = Path(__file__).with_name("static")
    app.mount("/static", StaticFiles(directory=static), name="static")
    for kind in (GroveError, Problem, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, problem_response)
    app.add_middleware(GZipMiddleware, minimum_size=_SHORTEST_ZIPPED, compresslevel=_FASTEST)
    app.add_middleware(Guards, limits=limits, hosts=hosts, bodies=_bodies(limits))
    _declare_problems(app)
    return app


def _bodies(limits: Limits) -> dict[str, int]:
    """Return how many bytes bodies may have whose paths end so."""
    uploads = dict.fromkeys(("/ingest", "/validate"), limits.upload_bytes)
    return uploads | dict.fromkeys(("/infer", "/score", "/explain"), limits.score_bytes)


def _declare_problems(app: FastAPI) -> None:
    """Add the schema of problem documents to the OpenAPI document, to which every route refers."""
    made = app.openapi

    def openapi() -> dict[str, object]:
        document = made()
        known = document.setdefault("components", {}).setdefault("schemas", {})
        known["ProblemDocument"] = schemas.ProblemDocument.model_json_schema()
        return document

    app.openapi = openapi  # type: ignore[method-assign]
