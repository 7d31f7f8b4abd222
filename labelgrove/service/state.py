"""What routes share: the workspace, the open versions, and the parameters that many of them take."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Path, Query, Request

from labelgrove.documents.overview import Overview
from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.ontology.browse.pages import LARGEST_PAGE
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.identity import Actor, actor_of
from labelgrove.service.kept.checkup import Checkup
from labelgrove.service.kept.histories import Histories
from labelgrove.service.kept.marking import MarkedResults
from labelgrove.service.kept.openversions import Opened, OpenVersions
from labelgrove.service.kept.readiness import Readiness
from labelgrove.service.kept.streams import Watcher
from labelgrove.service.limits import Limits
from labelgrove.service.processes.reading import UploadReader
from labelgrove.service.scoring.models import Models
from labelgrove.service.scoring.scorers import Scorers

__all__ = [
    "CSV",
    "After",
    "Key",
    "Limit",
    "OntologyName",
    "Shared",
    "SpreadsheetSafe",
    "State",
    "VersionOpened",
    "VersionText",
    "readiness_of",
]


Kept = TypeVar("Kept", OpenVersions, MarkedResults, UploadReader, Overview, Histories, Models)


@dataclass(frozen=True)
class State:
    """What an application keeps as long as it runs."""

    workspace: Workspace
    versions: OpenVersions
    limits: Limits
    results: MarkedResults
    uploads: UploadReader
    overview: Overview
    checkup: Checkup
    histories: Histories
    models: Models
    scorers: Scorers
    watcher: Watcher
    readiness: Readiness

    def seen_by(self, actor: Actor) -> State:
        """Return what `actor` may see of it."""
        seen = self.workspace.seen_by(actor.name, actor.ontologies)
        return replace(
            self,
            workspace=seen,
            versions=_through(self.versions, seen),
            results=_through(self.results, seen),
            uploads=_through(self.uploads, seen),
            overview=_through(self.overview, seen),
            histories=_through(self.histories, seen),
            models=_through(self.models, seen),
        )


def _through(kept: Kept, workspace: Workspace) -> Kept:
    """Return what is kept for everybody; `workspace` decides what one of them sees of it."""
    other = copy.copy(kept)
    other.workspace = workspace
    return other


def readiness_of(request: Request) -> Readiness:
    """Return the readiness of this process, which is the same for every actor."""
    return cast("State", request.app.state.shared).readiness


async def _state(request: Request) -> State:  # async, and so without a thread: it reads nothing
    return cast("State", request.app.state.shared).seen_by(actor_of(request))


Shared = Annotated[State, Depends(_state)]

OntologyName = Annotated[str, Path(description="Name of an ontology.", max_length=64, examples=["garden"])]

VersionText = Annotated[
    str | None,
    Query(
        description="4 to 64 hexadecimal digits, the beginning of a digest; by default the current version."
    ),
]

Key = Annotated[str, Query(description="Key of a label.", max_length=LONGEST_QUERY)]

SpreadsheetSafe = Annotated[
    bool,
    Query(
        description="CSV: put an apostrophe before text that a spreadsheet would run as a formula, as "
        "`--spreadsheet-safe` does."
    ),
]

CSV = "text/csv; charset=utf-8; header=present"
"""Media type of every table with a header."""

Limit = Annotated[int, Query(description="Most items.", ge=1, le=LARGEST_PAGE)]

After = Annotated[
    str | None, Query(description="`next` of the page before, which asked the same.", max_length=200)
]


def _opened(
    shared: Shared,
    ontology: OntologyName,
    version: VersionText = None,
    state: Annotated[
        str | None,
        Query(description="`state_tag` of the ontology; with `version`, the answer never changes."),
    ] = None,
) -> Opened:
    del state  # `labelgrove.service.caching` reads it
    return shared.versions.open(ontology, version)


VersionOpened = Annotated[Opened, Depends(_opened)]
