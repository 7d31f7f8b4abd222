"""Check a request for an experiment, explain its errors, and write it as a command."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labelgrove.experiments.experiment import Experiment
from labelgrove.experiments.settings import as_texts, with_seeds_from
from labelgrove.ontology.errors import GroveError, InputError, MissingExtraError

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files

__all__ = ["as_command", "check_runnable", "errors_of_request"]


def check_runnable(experiment: Experiment[Any, Any], files: Files | None) -> None:
    """Check that an experiment can run here and takes these files.

    Raises
    ------
    MissingExtraError
        If a package that the experiment needs is not installed.
    InputError
        For files that the experiment cannot use.
    """
    for package in ("scikit-learn", "threadpoolctl", "networkx"):
        if importlib.util.find_spec("sklearn" if package == "scikit-learn" else package) is None:
            raise MissingExtraError.of(package, "demo", f"the experiment {experiment.claim.name!r}")
    if files is None or not files.given():
        return
    said, accepted = files.said(), [set(taken) for taken in experiment.claim.own_files]
    if said not in accepted:
        wanted = " or ".join(" ".join(f"--{n}" for n in taken) for taken in experiment.claim.own_files)
        spare = said - max((taken for taken in accepted if taken <= said), key=len, default=said)
        raise InputError(
            f"{experiment.claim.name}: {', '.join(f'--{n}' for n in sorted(files.given()))} given; "
            + (f"it takes {wanted}" if wanted else "it takes no files of your own")
            + (f"; leave out {', '.join(f'--{n}' for n in sorted(spare))}" if spare else "")
        )


@contextmanager
def errors_of_request(experiment: Experiment[Any, Any], settings: Any, files: Files | None) -> Iterator[None]:
    """Turn errors of a library about settings or files of a user into `InputError`.

    With the default (or quick) settings and without files, such an error is a defect of the program, and is
    raised unchanged.
    """
    try:
        yield
    except GroveError:
        raise
    except (ArithmeticError, MemoryError, ValueError) as error:
        if files is None and settings in (experiment.settings(), experiment.settings(quick=True)):
            raise
        said = str(error).partition("\n")[0]
        changes = shlex.split(as_command(experiment, settings, files))[3:]
        raise InputError(
            f"{experiment.claim.name}: cannot be run with {' '.join(changes)} "
            f"({type(error).__name__}: {said}); change these settings or files"
        ) from error


def as_command(experiment: Experiment[Any, Any], settings: Any, files: Files | None) -> str:
    """Return the command that repeats an experiment, with FILE in place of the paths of files.

    Examples
    --------
    >>> from labelgrove.experiments import load
    >>> from labelgrove.experiments.settings import changed
    >>> experiment = load("complete-graph")
    >>> as_command(experiment, experiment.settings(quick=True), None)
    'grove experiment complete-graph --quick'
    >>> as_command(experiment, changed(experiment.settings(), ["n_rows=10"]), None)
    'grove experiment complete-graph --set n_rows=10'
    """
    words = ["grove", "experiment", experiment.claim.name, *_setting_options(experiment, settings)]
    if files is not None:
        for name in sorted(files.given()):
            words += [f"--{name}", "FILE"]
        words += [] if files.metric == "tree" else ["--metric", files.metric]
        words += [] if files.answers == "all" else ["--answers", files.answers]
    return shlex.join(words)


def _setting_options(experiment: Experiment[Any, Any], settings: Any) -> list[str]:
    """Return the options that give these settings: ``--quick``, ``--seeds-from``, else ``--set`` for each."""
    first = settings.seeds[0]
    for quick in (False, True):
        default = experiment.settings(quick=quick)
        words = ["--quick"] if quick else []
        if settings == default:
            return words
        if settings == with_seeds_from(default, first):
            return [*words, "--seeds-from", str(first)]
    defaults = as_texts(experiment.settings())
    changes = [f"{name}={text}" for name, text in as_texts(settings).items() if text != defaults[name]]
    return [word for change in changes for word in ("--set", change)]
