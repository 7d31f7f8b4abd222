"""The kind of job `experiment`: test a claim of the source paper unit by unit.

``grove experiment`` submits this job and waits for it. The ledger records the units, so that a job can be
stopped at any time and continued later, and any number of workers share its units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.adapter.plainfile import open_plain
from labelgrove.datasets.filepaths import OWN_FILES, FilePaths
from labelgrove.experiments import NAMES, PRETRAINED, load
from labelgrove.experiments.prepared import turn
from labelgrove.ontology.errors import InputError, no_such_file
from labelgrove.workers.kinds import Description, Estimate, JobKind, JobResult, Step, Subject, Work
from labelgrove.workers.kinds.parameters import Parameter, Parameters, is_digest
from labelgrove.workers.kinds.requestfiles import local_file

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files
    from labelgrove.experiments.experiment import Experiment
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["EXPERIMENT"]

_ENDING = re.compile(r"(\.[A-Za-z0-9]+){0,2}")  # it becomes part of a path
_UNIT_BYTES = 65_536  # of the document of a unit, and of its part of the result

_PARAMETERS = (
    Parameter("experiment", "a name that `grove experiment list` shows", text=True),
    Parameter("quick", "true or false: whether to use small settings, which take a few seconds", False),
    Parameter("settings", 'a JSON object with a text for each setting, such as {"sizes": "10,25"}', {}),
    *(
        Parameter(name, "your own file, as for grove experiment; or null", None, file=True)
        for name in OWN_FILES
    ),
    Parameter("metric", "tree or graph: how distances on your own hierarchy are measured", "tree"),
    Parameter("answers", "all or leaves: labels of your own hierarchy that may be answers", "all"),
    Parameter("files", "digest of each given file, and the ending of its name", filled=True),
    Parameter(
        "environment",
        "versions of the experiment, Python and the libraries; the sha256 of installed data",
        filled=True,
    ),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    from labelgrove.experiments.documents import environment
    from labelgrove.experiments.prepared import named_files
    from labelgrove.experiments.runnable import check_runnable
    from labelgrove.experiments.settings import as_texts

    del subject
    found = Parameters("experiment", {"files": {}, "environment": None, **given}, _PARAMETERS)
    found.choice("experiment", (*NAMES, *PRETRAINED))
    found.flag("quick")
    found.choice("metric", ("tree", "graph"))
    found.choice("answers", ("all", "leaves"))
    for name in OWN_FILES:
        if found[name] is not None:
            raise found.wrong(name, "give the path or URL of one file, as a string")
        del found[name]
    files = found["files"]
    known = isinstance(files, dict) and files.keys() <= OWN_FILES.keys()
    if not (known and all(map(_is_file, files.values()))):
        raise found.wrong("files", "name the files by their own parameters")
    experiment = load(found["experiment"])
    given_files = named_files(found)
    check_runnable(experiment, given_files or FilePaths(metric=found["metric"], answers=found["answers"]))
    found["settings"] = as_texts(_settings(found))
    if found["environment"] is None:
        found["environment"] = _flat(experiment, environment(experiment, _settings(found), given_files))
    elif not _is_environment(found["environment"]):
        raise found.wrong("environment", "leave it out: it is filled in")
    del found["quick"]
    return found


def _is_file(entry: Any) -> bool:
    if not (isinstance(entry, dict) and is_digest(entry.get("sha256"))):
        return False
    return isinstance(entry.get("ending"), str) and _ENDING.fullmatch(entry["ending"]) is not None


def _is_environment(given: Any) -> bool:
    """Return whether a value is a dictionary from ASCII texts to ASCII texts, like the result of `_flat`."""
    return isinstance(given, dict) and all(
        isinstance(v, str) and v.isascii() for v in (*given, *given.values())
    )


def _settings(parameters: Mapping[str, Any]) -> Any:
    """Return the settings of the experiment, with the defaults for those that the request leaves out."""
    from labelgrove.experiments.settings import changed

    asked = parameters["settings"]
    plain = isinstance(asked, dict) and all(isinstance(v, str | int) for v in asked.values())
    if not plain:
        raise InputError(
            f"experiment: settings is {asked!r}; give an object with a text for each setting, such as "
            '{"sizes": "10,25"}'
        )
    usual = load(parameters["experiment"]).settings(quick=parameters.get("quick", False))
    return changed(usual, [f"{name}={text}" for name, text in asked.items()])


def _flat(experiment: Experiment[Any, Any], found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return one dictionary of what decides the result of a unit, besides the settings and files of a user.

    It contains the version of the experiment, the versions of Python and the libraries, and the digests of
    installed data. The versions and digests come from `found`, the result of `documents.environment`.
    """
    return {"experiment": str(experiment.version), **found["libraries"], **found["data"]}


def _gather(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """Store the files of a request as artifacts, and put their digests in place of their paths.

    The digests become part of the job. The endings of the file names are kept, because they tell the formats.
    """
    asked = dict(given)
    if not isinstance(asked.setdefault("files", {}), dict):
        raise InputError(f"experiment: files is {asked['files']!r}; leave it out: it is filled in")
    files = dict(asked["files"])
    for name in OWN_FILES:
        location = asked.pop(name, None)
        if location is not None:
            files[name] = _published(workspace.artifacts, name, location)
    return asked | {"files": files}


def _published(artifacts: ArtifactStore, name: str, location: Any) -> dict[str, str]:
    if not isinstance(location, str):
        raise InputError(f"experiment: {name} is {location!r}; give the path or URL of a file, as a string")
    with local_file(location) as path:
        try:
            with open_plain(path) as file:
                content = file.read()
        except FileNotFoundError:
            raise no_such_file(location) from None
        except OSError as error:
            raise InputError(
                f"experiment: {name} is {location!r}, which cannot be read ({error.strerror}); "
                "name one file that can be read, not a folder"
            ) from error
        ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
        if not _ENDING.fullmatch(ending):
            raise InputError(
                f"experiment: {name} is {location!r}, which ends in {ending!r}; use a file name "
                "whose ending has only letters and digits"
            )
    return {"sha256": artifacts.put_bytes(content), "ending": ending}


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    units = load(parameters["experiment"]).units(_settings(parameters))
    return [*(Step({**parameters, "unit": i}) for i in range(len(units))), Step(parameters, stage=1)]


def _execute(work: Work) -> bytes:
    from labelgrove.experiments import prepared
    from labelgrove.experiments.runnable import errors_of_request
    from labelgrove.ontology.results import pack_document

    wanted = work.parameters
    experiment, settings = load(wanted["experiment"]), _settings(wanted)
    if "unit" not in wanted:
        prepared.forget()
        return _joined(work, experiment, settings)
    with prepared.kept(work) as job:
        work.check()
        if not job.is_prepared:  # later units use the same packages and data
            _check_environment(wanted["environment"], experiment, settings, job.files)
        with errors_of_request(experiment, settings, job.files):
            unit = experiment.units(settings)[wanted["unit"]]
            result = experiment.measure(job.data(experiment, settings), settings, unit)
        work.check()  # inside the block: a cancelled job releases its data
        return pack_document({"parameters": dict(unit), "result": dict(result)})


def _check_environment(
    wanted: Mapping[str, str], experiment: Experiment[Any, Any], settings: Any, files: Files | None
) -> dict[str, dict[str, str]]:
    """Return the environment of this process; raise `InputError` unless it is the requested one, `wanted`."""
    from labelgrove.experiments.documents import environment

    found = environment(experiment, settings, files)
    here = _flat(experiment, found)
    other = [name for name in sorted({*wanted, *here}) if here.get(name) != wanted.get(name)]
    if other:
        shown = {"experiment": "version of the experiment"}
        differing = "; ".join(
            f"{shown.get(name, name)}: {here.get(name, 'none')} here, {wanted.get(name, 'none')} requested"
            for name in other
        )
        raise InputError(
            f"experiment: {differing}; run this job on a worker with the requested versions, or submit it "
            "again from an environment like that of this worker"
        )
    return found


def _joined(work: Work, experiment: Experiment[Any, Any], settings: Any) -> bytes:
    """Return the document of an experiment, made from the results of its units."""
    from labelgrove.experiments.documents import identify, make_document
    from labelgrove.experiments.prepared import named_files
    from labelgrove.experiments.runnable import as_command
    from labelgrove.ontology.results import pack_document, read_document

    files, given = named_files(work.parameters), work.parameters["files"]
    found = _check_environment(work.parameters["environment"], experiment, settings, files)
    digests = {name.replace("_", "-"): given[name]["sha256"] for name in sorted(given)}
    results = [read_document(work.artifacts, digest)["result"] for digest in work.inputs]
    identity = identify(experiment, settings, files, digests, found)
    command = as_command(experiment, settings, files)
    return pack_document(make_document(experiment, settings, identity, results, command))


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    """Estimate the number of units and the bytes of their results.

    The time is not estimated: the time that training takes cannot be computed from the sizes of the data.
    """
    del subject
    n_units = len(_plan(parameters))
    return Estimate(n_units, 2 * n_units * _UNIT_BYTES, 0)


def _describe(workspace: Workspace, result: JobResult) -> Description:
    from labelgrove.ontology.results import read_document

    del workspace
    found = read_document(result.artifacts, result.sha256)
    rows = [(finding["claim"], finding["verdict"], finding["because"]) for finding in found["findings"]]
    line = f"{found['experiment']}: {found['verdict']}; --out FILE.json writes the document"
    return Description(line, {"document": found}, ("claim", "verdict", "because"), rows, is_document=True)


EXPERIMENT = JobKind(
    name="experiment",
    version=3,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    queue="experiments",
    turn=turn,
    parameters=_PARAMETERS,
    gather=_gather,
    estimate=_estimate,
    describe=_describe,
)
"""Test a claim, on data that are available everywhere or on files.

There is one unit for each trial of the claim, such as one K and one seed, and a last unit that writes the
document from their results.
"""
