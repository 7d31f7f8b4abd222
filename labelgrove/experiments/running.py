"""Run an experiment unit by unit, so that it can be stopped at any time and continued later.

::

    FOLDER/NAME/units/<identity>/<unit>.json   one file for each unit, written whole or not at all
    FOLDER/NAME/result.json, .md, .html        the findings; the same bytes however often it was stopped

The identity is a digest of everything that decides a unit's result: experiment, version, settings, digests of
the user's files and of installed data, versions of Python and the libraries. Results of other settings are
therefore never mixed. Two influences are outside it: the processor and its linear algebra, which decide the
last digits of trained models, and changes of labelgrove's code within one version.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove.experiments.experiment import Experiment, Record
from labelgrove.experiments.settings import as_texts
from labelgrove.ontology.errors import GroveError, InputError, MissingExtraError
from labelgrove.ontology.results import pack_document
from labelgrove.ontology.store.wholefile import write_whole
from labelgrove.report.experiment import experiment_report
from labelgrove.report.forms import as_bytes, versions

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files

__all__ = [
    "Identity",
    "Result",
    "as_asked",
    "check_runnable",
    "environment",
    "identify",
    "repeating",
    "run",
    "summarized",
    "write",
]

_LIBRARIES = ("labelgrove", "numpy", "scipy", "scikit-learn", "networkx")
_IDENTITY_DIGITS = 16


@dataclass(frozen=True)
class Result:
    """An experiment whose units are all computed.

    Attributes
    ----------
    document : dict
        Contents of ``result.json``.
    path : Path
        Path of that file.
    computed : int
        Number of units computed by this call; the others were computed before.
    seconds : float
        Wall-clock seconds that all units took, whenever they were computed.
    """

    document: dict[str, Any]
    path: Path
    computed: int
    seconds: float


def run(
    experiment: Experiment[Any, Any],
    folder: Path,
    *,
    settings: Any = None,
    files: Files | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Result:
    """Compute the units that are missing, and write the findings from all units.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Where results are kept, one folder for each experiment; made if missing.
    settings : optional
        By default the settings of the claim; ``experiment.settings(quick=True)`` for small ones.
    files : Files, optional
        A user's own inputs, if the experiment takes them.
    command : str, optional
        The command that was typed, for the record; by default the command that `repeating` returns.
    progress : callable
        Called with the name of a unit, the number done and the number of units, before each.

    Returns
    -------
    Result

    Raises
    ------
    MissingExtraError
        Without scikit-learn.
    InputError
        For files that the experiment does not take, for settings and files with which it cannot be computed,
        and for a unit's file with other contents than those written.
    GroveError
        Any error of a unit; the units before it are kept.
    """
    check_runnable(experiment, files)
    settings = experiment.settings() if settings is None else settings
    with as_asked(experiment, settings, files):
        identity = identify(experiment, settings, files)
        home = folder / experiment.name
        store = _Units(home / "units" / identity.digest[:_IDENTITY_DIGITS])
        units = list(experiment.units(settings))
        missing = [i for i, unit in enumerate(units) if not store.has(unit)]
        data = experiment.prepare(settings, files) if missing else None
        for done, i in enumerate(missing):
            progress(_name(units[i]), len(units) - len(missing) + done, len(units))
            begin = time.perf_counter()
            found = experiment.measure(data, settings, units[i])
            store.put(units[i], found, time.perf_counter() - begin)
        results, seconds = store.read(units)
        command = command or repeating(experiment, settings, files)
        document = summarized(experiment, settings, identity, results, command)
        path = home / "result.json"
        content = pack_document(document)
        document = json.loads(content)
        report = experiment_report(document)
        for form in (".md", ".html"):
            write(path.with_suffix(form), as_bytes(report, path.with_suffix(form)).decode())
        write(path, content.decode())  # written last: it marks a run as finished
    return Result(document, path, len(missing), seconds)


@contextmanager
def as_asked(experiment: Experiment[Any, Any], settings: Any, files: Files | None) -> Iterator[None]:
    """Turn errors of a library about settings or files of a user into `InputError`.

    With the usual settings such an error is a defect, and is raised unchanged.
    """
    try:
        yield
    except GroveError:
        raise
    except (ArithmeticError, MemoryError, ValueError) as error:
        if files is None and settings in (experiment.settings(), experiment.settings(quick=True)):
            raise
        said = str(error).partition("\n")[0]
        changes = shlex.split(repeating(experiment, settings, files))[3:]
        raise InputError(
            f"{experiment.name}: cannot be run with {' '.join(changes)} "
            f"({type(error).__name__}: {said}); change these settings or files"
        ) from error


def check_runnable(experiment: Experiment[Any, Any], files: Files | None) -> None:
    """Refuse what cannot run here: `MissingExtraError`, or `InputError` for files that it does not take."""
    for package in ("scikit-learn", "threadpoolctl", "networkx"):
        if importlib.util.find_spec("sklearn" if package == "scikit-learn" else package) is None:
            raise MissingExtraError.of(package, "demo", f"the experiment {experiment.name!r}")
    if files is None or not files.given():
        return
    said, accepted = files.said(), [set(taken) for taken in experiment.own_files]
    if said not in accepted:
        wanted = " or ".join(" ".join(f"--{n}" for n in taken) for taken in experiment.own_files)
        spare = said - max((taken for taken in accepted if taken <= said), key=len, default=said)
        raise InputError(
            f"{experiment.name}: {', '.join(f'--{n}' for n in sorted(files.given()))} given; "
            + (f"it takes {wanted}" if wanted else "it takes no files of your own")
            + (f"; leave out {', '.join(f'--{n}' for n in sorted(spare))}" if spare else "")
        )


@dataclass(frozen=True)
class Identity:
    """Everything that decides the result of a unit, and the sha256 of it.

    Attributes
    ----------
    parts : dict
        Experiment, version, settings, digests of files and installed data, versions of Python and libraries.
    digest : str
    """

    parts: dict[str, Any]
    digest: str


def environment(experiment: Experiment[Any, Any], files: Files | None) -> dict[str, dict[str, str]]:
    """Return what results depend on besides settings: ``libraries``, Python included, and ``data``.

    Raises
    ------
    NotFoundError
        If data that the experiment reads are not installed.
    """
    return {"libraries": versions(_LIBRARIES), "data": dict(experiment.installed_data(files))}


def identify(experiment: Experiment[Any, Any], settings: Any, files: Files | None) -> Identity:
    """Return what the units of an experiment with these settings and files depend on."""
    parts = {
        "experiment": experiment.name,
        "version": experiment.version,
        "settings": asdict(settings),
        "files": {} if files is None else files.digests(),
        **environment(experiment, files),
    }
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()
    return Identity(parts, hashlib.sha256(canonical).hexdigest())


def summarized(
    experiment: Experiment[Any, Any],
    settings: Any,
    identity: Identity,
    results: Sequence[Record],
    command: str,
) -> dict[str, Any]:
    """Return the document made from the results of all units, in the order of the units."""
    units = list(experiment.units(settings))
    summary = experiment.summarize(settings, list(zip(units, results, strict=True)))
    return {
        "experiment": experiment.name,
        "claim": experiment.claim,
        "source": experiment.source,
        "inputs": "the user's own files" if identity.parts["files"] else experiment.inputs,
        "verdict": str(summary.findings[0].verdict),
        "command": command,
        "own_files_command": experiment.command,
        "identity": identity.digest,
        **{k: identity.parts[k] for k in ("version", "settings", "files", "data", "libraries")},
        "rows_where_argmax_was_verified": sum(int(r["checked_rows"]) for r in results),
        **summary.to_dict(),
        "units": [
            {"parameters": dict(unit), "result": dict(r)} for unit, r in zip(units, results, strict=True)
        ],
    }


def repeating(experiment: Experiment[Any, Any], settings: Any, files: Files | None) -> str:
    """Return the command that repeats an experiment.

    Examples
    --------
    >>> from labelgrove.experiments import load
    >>> from labelgrove.experiments.settings import changed
    >>> experiment = load("complete-graph")
    >>> repeating(experiment, experiment.settings(quick=True), None)
    'grove experiment complete-graph --quick'
    >>> repeating(experiment, changed(experiment.settings(), ["n_rows=10"]), None)
    'grove experiment complete-graph --set n_rows=10'
    """
    words = ["grove", "experiment", experiment.name]
    if settings != experiment.settings() and settings == experiment.settings(quick=True):
        words.append("--quick")
    else:
        usual = as_texts(experiment.settings())
        for name, text in as_texts(settings).items():
            if text != usual[name]:
                words += ["--set", f"{name}={text}"]
    for name in sorted(set() if files is None else files.given()):
        words += [f"--{name}", "FILE"]
    return shlex.join(words)


def _name(unit: Record) -> str:
    return ",".join(f"{key}={value}" for key, value in unit.items())


def write(path: Path, text: str) -> None:
    """Write a file atomically, whole or not at all; raise `InputError` if the folder cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text.encode()])
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a folder that you may write"
        ) from error


class _Units:
    """The unit files of one identity."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, unit: Record) -> bool:
        return self._path(unit).is_file()

    def put(self, unit: Record, result: Record, seconds: float) -> None:
        kept = {"parameters": dict(unit), "result": dict(result), "seconds": round(seconds, 3)}
        write(self._path(unit), json.dumps(kept, indent=1, ensure_ascii=False) + "\n")

    def read(self, units: Sequence[Record]) -> tuple[list[Record], float]:
        """Return the result of every unit, and the total seconds of all units."""
        kept = [self._read(unit) for unit in units]
        return [k["result"] for k in kept], sum(float(k["seconds"]) for k in kept)

    def _read(self, unit: Record) -> dict[str, Any]:
        path = self._path(unit)
        try:
            kept: dict[str, Any] = json.loads(path.read_bytes())
            if kept["parameters"] != json.loads(json.dumps(dict(unit))):
                raise InputError(f"{path}: holds the unit {kept['parameters']}; delete it and run again")
            int(kept["result"]["checked_rows"]), float(kept["seconds"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{path}: is not the unit that was written there ({type(error).__name__}: {error}); "
                "delete it and run again"
            ) from error
        return kept

    def _path(self, unit: Record) -> Path:
        return self._folder / f"{_name(unit)}.json"
