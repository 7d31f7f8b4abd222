"""Check a request to run an experiment, explain its errors, and write the request as a command."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labelgrove.experiments.experiment import Experiment
from labelgrove.experiments.settings import as_texts, with_seeds_from
from labelgrove.ontology.errors import GroveError, InputError, MissingExtraError

if TYPE_CHECKING:
    from labelgrove.datasets.filepaths import FilePaths
    from labelgrove.datasets.ownfiles import Files

__all__ = ["as_command", "check_runnable", "errors_of_request"]


def check_runnable(experiment: Experiment[Any, Any], files: FilePaths | None) -> None:
    """Check that an experiment can run here, and that it accepts these files.

    Raises
    ------
    MissingExtraError
        If a package that the experiment needs is not installed.
    InputError
        For files that the experiment cannot use, and for options that apply to a file that is not given.
    """
    for option, usual in (("metric", "tree"), ("answers", "all")):
        if files is not None and files.hierarchy is None and getattr(files, option) != usual:
            raise InputError(f"--{option}: applies to --hierarchy; give --hierarchy or leave --{option} out")
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
    """Raise `InputError` if the user's settings or files made a library fail in the ``with`` block.

    With the default or quick settings and without files, an error of a library is a defect of the program, so
    it is raised unchanged. Messages name a file by its option, because its path is that of a temporary copy.
    """
    try:
        yield
    except GroveError as error:
        if files is not None and error.args:
            error.args = (_by_option(str(error.args[0]), files), *error.args[1:])
        raise
    except (ArithmeticError, MemoryError, ValueError) as error:
        if files is None and settings in (experiment.settings(), experiment.settings(quick=True)):
            raise
        said = str(error).partition("\n")[0]
        said = said if files is None else _by_option(said, files)
        changes = shlex.split(as_command(experiment, settings, files))[3:]
        tried = f"with {' '.join(changes)} ({type(error).__name__}: {said})"
        if isinstance(error, MemoryError):
            raise InputError(
                f"{experiment.claim.name}: there is not enough memory here to run it {tried}; use smaller "
                "settings or files, or a machine with more memory"
            ) from error
        raise InputError(
            f"{experiment.claim.name}: cannot be run {tried}; change these settings or files"
        ) from error


_POLICY = re.compile(r"(; or )?choose --policy .*?(?=; [a-z-]+ at |; and \d+ more kind|\n|$)")
"""The advice to choose a policy, an option of ``grove ingest`` only, up to the next kind of defect."""


def _by_option(said: str, files: Files) -> str:
    """Return a message with options in place of paths, and without advice to use ``--policy``.

    `grove experiment` does not have that option.
    """
    for option in files.given():
        path = str(getattr(files, option.replace("-", "_")))
        said = said.replace(f"--{option} {path}", f"--{option}").replace(path, f"--{option}")
    return _POLICY.sub(lambda advice: "" if advice[1] else "correct the file", said)


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
    """Return the options that give these settings.

    If ``--quick`` and ``--seeds-from`` cannot give them, use ``--set`` for each setting that differs from its
    default.
    """
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
