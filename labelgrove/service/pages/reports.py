"""Reports of results, each a page of its own that a page of the explorer frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from labelgrove.documents.jobs import describe_result
from labelgrove.documents.labels import names_with_keys
from labelgrove.ontology.errors import NotFoundError
from labelgrove.service.access.identity import needs
from labelgrove.service.pages.rendering import PageRoute, command
from labelgrove.service.routes.jobs import JobId
from labelgrove.service.state import Shared
from labelgrove.workers.kinds import Description, JobResult

if TYPE_CHECKING:
    from labelgrove.report import Report

__all__ = ["REPORTED", "router"]

router = APIRouter(
    prefix="/jobs", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        # No script of the report ever runs. Of the same origin, because the page around it reads its height.
        "sandbox allow-same-origin",
    )
)


def _of_experiment(_: JobResult, document: Mapping[str, Any]) -> Report:
    from labelgrove.report.experiment import experiment_report

    return experiment_report(document)


def _of_evaluation(result: JobResult, document: Mapping[str, Any]) -> Report:
    from labelgrove.adapter.evaluation.result import Evaluation
    from labelgrove.report import Origin, evaluation_report

    facts = {"model": document["model"], "version of the ontology": document["ontology"]}
    facts |= {f"sha256 of {name}": sha256 for name, sha256 in document["inputs"].items() if sha256}
    return evaluation_report(
        Evaluation.from_dict(document),
        Origin(command("jobs", "result", result.job_id), facts),
        named=names_with_keys(result.graph),
    )


_MAKERS: Mapping[str, Callable[[JobResult, Mapping[str, Any]], Report]] = {
    "evaluation": _of_evaluation,
    "experiment": _of_experiment,
}

REPORTED = frozenset(_MAKERS)
"""Kinds of jobs whose results have a report."""


@router.get("/{job}/report")
def show_report(shared: Shared, job: JobId) -> Response:
    """Show the report of an evaluation or experiment; its page has a policy of its own, for a frame."""
    from labelgrove.report import to_html  # not at the top: a service starts without what few pages need

    _, result, shown = describe_result(shared.workspace, job)
    page = to_html(_report(result, shown))
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY, "Cache-Control": "private"})


def _report(result: JobResult, shown: Description) -> Report:
    if result.kind not in _MAKERS:
        raise NotFoundError(
            f"job {result.job_id[:12]} is of the kind {result.kind}, which has no report; only "
            f"{' and '.join(sorted(REPORTED))} have one"
        )
    return _MAKERS[result.kind](result, shown.document["document"])
