"""Write the document of an experiment, with its identity and its findings; make pages from the document.

::

    FOLDER/NAME/result.json, .md, .html        the findings of one experiment
    FOLDER/results.html, results.md            the verdicts of all experiments

An experiment is identified by a digest of everything that decides the result of a unit: experiment, version,
settings, digests of the user's files and of installed data, versions of Python and the libraries. Two
influences are not part of this digest: the processor and its linear algebra, which decide the last digits of
trained models, and changes of labelgrove's code within one version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove.experiments.experiment import Experiment, Record
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.store.wholefile import write_whole
from labelgrove.report.experiment import experiment_report, overview_report
from labelgrove.report.forms import as_bytes, versions
from labelgrove.report.html import to_html
from labelgrove.report.markdown import to_markdown

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files

__all__ = ["Identity", "environment", "identify", "make_document", "write_overview", "write_result"]

_LIBRARIES = ("labelgrove", "numpy", "scipy", "scikit-learn", "networkx")


@dataclass(frozen=True)
class Identity:
    """Everything that decides the result of a unit, and its sha256.

    Attributes
    ----------
    parts : dict
        Experiment, version, settings, digests of files and installed data, versions of Python and libraries.
    digest : str
    """

    parts: dict[str, Any]
    digest: str


def environment(
    experiment: Experiment[Any, Any], settings: Any, files: Files | None
) -> dict[str, dict[str, str]]:
    """Return what decides the results of units, besides the settings and the files of a user.

    The result is a dictionary. Its entry ``libraries`` has the versions of Python, the libraries and the
    packages with pretrained models, and its entry ``data`` has the digests of installed data.

    Raises
    ------
    MissingExtraError
        If a package with a pretrained model is not installed.
    NotFoundError
        If data that the experiment reads are not installed.
    """
    models = experiment.packages(settings)
    for package, extra in models.items():
        if not list(Distribution.discover(name=package)):
            raise MissingExtraError.of(package, extra, f"the experiment {experiment.claim.name!r}")
    return {"libraries": versions((*_LIBRARIES, *models)), "data": dict(experiment.installed_data(files))}


def identify(
    experiment: Experiment[Any, Any],
    settings: Any,
    files: Files | None,
    digests: Mapping[str, str],
    found: Mapping[str, Mapping[str, str]],
) -> Identity:
    """Return everything that decides the results of the units of an experiment.

    `digests` maps the name of each file to its sha256; `found` is the result of `environment`.
    """
    given = {} if files is None else {**digests, "metric": files.metric, "answers": files.answers}
    parts = {
        "experiment": experiment.claim.name,
        "version": experiment.version,
        "settings": asdict(settings),
        "files": given,
        **found,
    }
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()
    return Identity(parts, hashlib.sha256(canonical).hexdigest())


def make_document(
    experiment: Experiment[Any, Any],
    settings: Any,
    identity: Identity,
    results: Sequence[Record],
    command: str,
) -> dict[str, Any]:
    """Return the document of an experiment; `results` has the results of all units, in the order of units."""
    units = list(experiment.units(settings))
    summary = experiment.summarize(settings, list(zip(units, results, strict=True)))
    return {
        "experiment": experiment.claim.name,
        "claim": experiment.claim.sentence,
        "source": experiment.claim.source,
        "inputs": "the user's own files" if identity.parts["files"] else experiment.claim.inputs,
        "verdict": str(summary.findings[0].verdict),
        "command": command,
        "own_files_command": experiment.claim.command,
        "identity": identity.digest,
        **{k: identity.parts[k] for k in ("version", "settings", "files", "data", "libraries")},
        "rows_where_argmax_was_verified": sum(int(r["checked_rows"]) for r in results),
        **summary.to_dict(),
        "units": [
            {"parameters": dict(unit), "result": dict(r)} for unit, r in zip(units, results, strict=True)
        ],
    }


def write_result(folder: Path, content: bytes) -> dict[str, Any]:
    """Write ``result.json`` and the pages made from it, and return the document.

    `content` is the document as bytes, which become ``result.json``.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    document: dict[str, Any] = json.loads(content)
    report = experiment_report(document)
    for page in (folder / "result.md", folder / "result.html"):
        _write(page, as_bytes(report, page))
    _write(folder / "result.json", content)
    return document


def write_overview(
    folder: Path, documents: Sequence[Mapping[str, Any]], seconds: Sequence[float]
) -> list[Path]:
    """Write the pages about several experiments, and return their paths.

    Parameters
    ----------
    folder : Path
    documents : sequence of mapping
        The document of each experiment, in the order in which the pages show the experiments.
    seconds : sequence of float
        The wall-clock seconds that each experiment took.

    Returns
    -------
    paths : list of Path
        ``results.html`` links to the page of each experiment; ``results.md`` contains the text of all pages,
        except the tables that are closed at first on the HTML pages.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    linked = overview_report(documents, seconds, lambda d: f"{d['experiment']}/result.html")
    anchored = overview_report(documents, seconds, lambda d: f"#{_anchor(d)}")
    parts = [to_markdown(experiment_report(d), level=2, brief=True) for d in documents]
    pages = {"results.html": to_html(linked), "results.md": "\n".join([to_markdown(anchored), *parts])}
    for name, page in pages.items():
        _write(folder / name, page.encode())
    return [folder / name for name in pages]


def _anchor(document: Mapping[str, Any]) -> str:
    return f"{document['experiment']}-{document['verdict'].replace(' ', '-')}"


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; raise `InputError` if the folder cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [content])
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a folder that you may write to"
        ) from error
