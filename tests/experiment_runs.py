"""Run an experiment as its job, in a workspace whose ledger and artifacts are files of the test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove.cli.waiting.answering import answering_job
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.answering import answer_experiment
from labelgrove.experiments.experiment import Experiment
from labelgrove.experiments.settings import as_texts
from labelgrove.ontology.versions.workspace import Workspace
from tests.integration.workers_support import settings_in


@dataclass(frozen=True)
class Run:
    """The document of an experiment, its bytes, and how many units were computed for it."""

    document: dict[str, Any]
    content: bytes
    computed: int


def run(
    experiment: Experiment[Any, Any], home: Path, *, settings: Any = None, files: Files | None = None
) -> Run:
    """Submit an experiment to the ledger in `home`, as `grove experiment` does, and wait for its result."""
    texts = as_texts(experiment.settings() if settings is None else settings)
    given = {name: str(path) for name, path in vars(files or Files()).items() if path is not None}
    request = {"experiment": experiment.claim.name, "settings": texts, **given}
    with Workspace.open(settings_in(home)) as workspace:
        wait = partial(answering_job, workspace, experiment.claim.name)
        found = answer_experiment(workspace, request, wait)
        content = workspace.artifacts.read_bytes(found.sha256)
    return Run(json.loads(content), content, found.computed)
