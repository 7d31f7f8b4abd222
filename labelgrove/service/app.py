"""Put the service together: routes, pages, guards and problems, around one workspace."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, closing

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

import labelgrove
from labelgrove.documents.overview import Overview
from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service import schemas
from labelgrove.service.access.guards import LOOPBACK_NAMES, Guards
from labelgrove.service.access.identity import Identity
from labelgrove.service.assets import Assets
from labelgrove.service.kept.checkup import Checkup
from labelgrove.service.kept.histories import Histories
from labelgrove.service.kept.marking import MarkedResults
from labelgrove.service.kept.openversions import OpenVersions
from labelgrove.service.kept.streams import Watcher
from labelgrove.service.limits import Limits
from labelgrove.service.pages import cypher, explore, home, ingest, reference, reports, signin
from labelgrove.service.pages import jobs as job_pages
from labelgrove.service.problems import Problem, problem_response
from labelgrove.service.processes.reading import UploadReader
from labelgrove.service.routes import (
    bundles,
    drawing,
    events,
    everywhere,
    inference,
    jobs,
    labels,
    ontologies,
    queries,
    service,
    submitting,
    uploads,
)
from labelgrove.service.scoring.models import Models
from labelgrove.service.scoring.scorers import Scorers
from labelgrove.service.state import State

__all__ = ["make_app"]

_SHORTEST_ZIPPED = 1_000
_FASTEST = 1


def make_app(
    workspace: Workspace,
    limits: Limits | None = None,
    *,
    hosts: Collection[str] = LOOPBACK_NAMES,
    local: bool = True,
) -> FastAPI:
    """Return the application that serves a workspace.

    Parameters
    ----------
    workspace : Workspace
        Closed when the application ends.
    limits : Limits, optional
    hosts : collection of str
        The names that requests may give this host.
    local : bool
        Whether only this machine reaches the service, so that everybody who does may read.
    """
    limits = limits or Limits()
    checkup = Checkup(workspace.settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        uploads.remove_left_over()
        with workspace, closing(checkup), shared.scorers:
            async with shared.watcher:
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
        UploadReader(workspace, limits),
        Overview(workspace),
        checkup,
        Histories(workspace),
        Models(workspace, limits.open_bundles),
        Scorers(os.cpu_count() or 1, limits.scores_waiting, limits.body_s),
        Watcher(workspace, limits.watchers),
    )
    app.state.shared = shared
    app.state.identity = identity = Identity(workspace, local=local)
    for routes in (
        service,
        everywhere,
        ontologies,
        labels,
        drawing,
        jobs,
        submitting,
        events,
        queries,
        uploads,
        bundles,
        inference,
    ):
        app.include_router(routes.router)
    for pages in (home, explore, job_pages, reports, ingest, cypher, reference, signin):
        app.include_router(pages.router)
    app.mount("/static", Assets(), name="static")
    for kind in (GroveError, Problem, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, problem_response)
    app.add_middleware(GZipMiddleware, minimum_size=_SHORTEST_ZIPPED, compresslevel=_FASTEST)
    app.add_middleware(Guards, limits=limits, hosts=hosts, bodies=_bodies(limits), identity=identity)
    _declare_problems(app)
    return app


def _bodies(limits: Limits) -> dict[str, tuple[int, str]]:
    """Return the endings of paths with larger bodies: their most bytes, and the scope to send so many."""
    uploads = dict.fromkeys(("/ingest", "/validate"), (limits.upload_bytes, "admin"))
    return uploads | dict.fromkeys(("/infer", "/score", "/explain"), (limits.score_bytes, "score"))


def _declare_problems(app: FastAPI) -> None:
    """Add the schema of problem documents to the OpenAPI document, to which every route refers."""
    made = app.openapi

    def openapi() -> dict[str, object]:
        document = made()
        known = document.setdefault("components", {}).setdefault("schemas", {})
        made_known = schemas.ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        known |= made_known.pop("$defs") | {"ProblemDocument": made_known}
        return document

    app.openapi = openapi  # type: ignore[method-assign]
