"""Prepare the data that the units of a job share, once in a process, from the files of the job."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from labelgrove.workers.ledger.specs import canonical_json

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files
    from labelgrove.experiments.experiment import Experiment
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["forget", "named_files", "shared_data"]


@dataclass(frozen=True)
class _Prepared:
    """The data of a job, and the folder of its files, which has to exist as long as the data are in use."""

    job: tuple[str, str]
    folder: ExitStack
    data: Any


_last: list[_Prepared] = []
"""The data prepared last, at most one entry; they stay in memory between the units of a job."""


def shared_data(
    experiment: Experiment[Any, Any], settings: Any, artifacts: ArtifactStore, parameters: Mapping[str, Any]
) -> Any:
    """Return the data that all units of a job share; only one thread at a time may call this.

    Parameters
    ----------
    experiment, settings
        The experiment of the job, and its settings.
    artifacts : ArtifactStore
        The store to read the files of the job from.
    parameters : mapping
        The complete parameters of the job or of one of its units.
    """
    job = artifacts.where, canonical_json({k: v for k, v in parameters.items() if k != "unit"})
    if not _last or _last[0].job != job:
        forget()  # before the next data are loaded: both may not fit into memory
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="labelgrove-"))
            for name, entry in parameters["files"].items():
                _provide(artifacts, entry["sha256"], _path(folder, name, entry))
            data = experiment.prepare(settings, named_files(parameters, folder))
            _last.append(_Prepared(job, stack.pop_all(), data))
    return _last[0].data


def forget() -> None:
    """Release the data that were prepared last."""
    while _last:
        _last.pop().folder.close()


def named_files(parameters: Mapping[str, Any], folder: str = "") -> Files | None:
    """Return the files of a job, with their paths in `folder`; None if the job has no files."""
    from labelgrove.datasets.ownfiles import Files

    paths: dict[str, Any] = {name: _path(folder, name, entry) for name, entry in parameters["files"].items()}
    return Files(**paths, metric=parameters["metric"], answers=parameters["answers"]) if paths else None


def _path(folder: str, name: str, entry: Mapping[str, str]) -> Path:
    return Path(folder, name + entry["ending"])


def _provide(artifacts: ArtifactStore, digest: str, path: Path) -> None:
    """Check the content of an artifact, and make it a file at `path`, whose ending tells the format.

    The file is a link if the artifact is a local file, else a copy.
    """
    content = artifacts.content(digest)
    held = artifacts.local_path(digest)
    if held is None:
        path.write_bytes(content)
    else:
        path.symlink_to(held)
