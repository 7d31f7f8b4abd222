"""Put the service together: routes, pages, guards and problems, around one workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, closing, nullcontext
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

import labelgrove
from labelgrove.documents.overview import Overview
from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service import schemas
from labelgrove.service.access.crossorigin import CrossOrigin
from labelgrove.service.access.guards import LOOPBACK_NAMES, Guards, LargeBodies
from labelgrove.service.access.identity import Identity
from labelgrove.service.assets import Assets
from labelgrove.service.connections import Connections
from labelgrove.service.kept.checkup import Checkup
from labelgrove.service.kept.histories import Histories
from labelgrove.service.kept.marking import MarkedResults
from labelgrove.service.kept.openversions import OpenVersions
from labelgrove.service.kept.readiness import Readiness
from labelgrove.service.kept.streams import Watcher
from labelgrove.service.limits import Limits
from labelgrove.service.metering import Metered, ServiceMetrics
from labelgrove.service.pages import bundles as bundle_pages
from labelgrove.service.pages import cypher, explore, home, ingest, newjob, reference, reports, signin
from labelgrove.service.pages import jobs as job_pages
from labelgrove.service.pages import reach as reach_page
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
    labelstudio,
    ontologies,
    queries,
    reach,
    schedules,
    service,
    submitting,
    uploads,
    whatif,
)
from labelgrove.service.scoring.cores import usable_cores
from labelgrove.service.scoring.models import Models
from labelgrove.service.scoring.scorers import Scorers
from labelgrove.service.state import State
from labelgrove.service.temporary import remove_left_over

__all__ = ["make_app"]

_SHORTEST_ZIPPED = 1_000
_FASTEST = 1
_ABOUT_ROWS = ("/v1/bundles/", "/v2/")


class _Zipped(GZipMiddleware):
    """Compresses answers, except those to rows: their numbers take longer to pack than to send."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(_ABOUT_ROWS):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def make_app(
    workspace: Workspace,
    limits: Limits | None = None,
    *,
    hosts: Collection[str] = LOOPBACK_NAMES,
    local: bool = True,
    metrics: ServiceMetrics | None = None,
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
    metrics : ServiceMetrics, optional
        Served as long as the application runs; by default nothing is measured.
    """
    limits = limits or Limits()
    checkup = Checkup(workspace.settings)
    connections = Connections(limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        remove_left_over()
        with workspace, closing(checkup), shared.scorers, metrics or nullcontext():
            async with shared.watcher:
                yield {"connections": connections, "readiness": shared.readiness}

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
        Scorers(usable_cores(), limits.scores_waiting),
        Watcher(workspace, limits.watchers),
        Readiness(workspace),
    )
    app.state.shared = shared
    app.state.identity = identity = Identity(workspace, local=local)
    # `include_router` would build every route again for each application, when its first request arrives.
    # Options of the application, such as its dependencies, do not reach routes that are added like this.
    for routes in (
        service,
        everywhere,
        ontologies,
        labels,
        labelstudio,
        drawing,
        reach,
        jobs,
        submitting,
        schedules,
        events,
        queries,
        uploads,
        bundles,
        whatif,
        inference,
    ):
        app.router.routes += routes.router.routes
    for pages in (
        home,
        explore,
        reach_page,
        bundle_pages,
        newjob,
        job_pages,
        reports,
        ingest,
        cypher,
        reference,
        signin,
    ):
        app.router.routes += pages.router.routes
    app.mount("/static", Assets(), name="static")
    for kind in (GroveError, Problem, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, problem_response)
    app.add_middleware(_Zipped, minimum_size=_SHORTEST_ZIPPED, compresslevel=_FASTEST)
    app.add_middleware(
        Guards,
        limits=limits,
        hosts=hosts,
        bodies=_bodies(limits),
        identity=identity,
        crossing=CrossOrigin(workspace.settings.serve_origins),
    )
    if metrics is not None:  # around the guards, whose refusals count too
        metrics.watch(shared, connections)
        app.add_middleware(Metered, metrics=metrics)
    _declare_problems(app)
    return app


def _bodies(limits: Limits) -> tuple[LargeBodies, ...]:
    """Return the routes to which larger bodies may be sent."""
    return (
        LargeBodies(("/ingest", "/validate"), limits.upload_bytes, limits.upload_s, "admin"),
        LargeBodies(
            ("/infer", "/score", "/explain", "/row", "/heat", "/what-if"),
            limits.score_bytes,
            limits.body_s,
            "score",
        ),
    )


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
