"""The kind `evaluation`: the answers to a model's outputs measured against the truth, on one version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, NotFoundError, first_few
from labelgrove.workers.kinds.files import StoredOutputs, put_outputs, put_truth, stored_outputs
from labelgrove.workers.kinds.graphresult import shown_result
from labelgrove.workers.kinds.inputs import open_graph, read_graph, read_keys, read_labels
from labelgrove.workers.kinds.kind import OPENING_SECONDS, Estimate, JobKind, Step, Work
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters, is_digest

if TYPE_CHECKING:
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Publication

__all__ = ["EVALUATION", "read_evaluation"]

_FORMAT = "labelgrove/evaluation/1"
_STORED = {"frechet_mean": "loki"}  # an artifact keeps the bytes, and the names, of earlier versions
_ROWS = 4096  # measured between two looks at whether the work is still wanted
_SECONDS_PER_ROW, _SECONDS_PER_OUTPUT = 1e-5, 5e-7
_BYTES, _BYTES_PER_BRANCH = 65_536, 6_000  # of the document

_EMITS = ("probabilities", "log_probabilities", "logits")
_LOOKED_UP = ("bundle", "array", "id_column")

_PARAMETERS = (
    *SPACE,
    Parameter(
        "observed",
        "label keys, in the order of the columns; a header of the outputs or a bundle names them too",
        keys=True,
        filled=True,
    ),
    Parameter(
        "bundle",
        "a bundle of the ontology by its name, in place of metric, labels and observed; or null",
        None,
        text=True,
    ),
    Parameter("model", "any text: the name under which evaluations of a model are found", text=True),
    Parameter("outputs", "a file of the model's outputs, or its URL", file=True),
    Parameter("array", "which array of a file with several; or null", None, text=True),
    Parameter("id_column", "which column of a file names its rows; or null", None, text=True),
    Parameter("truth", "a file with a label key for each row, or its URL", file=True),
    Parameter(
        "train_truth", "the same of the training samples, for the constant answer; or null", None, file=True
    ),
    Parameter("n_samples", "how many rows these are", filled=True),
    Parameter("emits", "probabilities, log_probabilities or logits", "probabilities"),
    Parameter("temperature", "a decimal number above 0: what logits are divided by", "1"),
    Parameter(
        "hierarchy", "true or false: on a graph, read ancestors and branches along first parents", False
    ),
    Parameter(
        "branch_level",
        "a whole number from 0: level of the branches; 1: children of the root; or null: the first at which "
        "no branch holds more than half of the samples",
        None,
    ),
    Parameter("top", "a whole number from 1: the k of top-k accuracy", 5),
    Parameter("level", "a decimal number between 0 and 1: of the intervals", "0.95"),
    Parameter("resamples", "a whole number from 1: draws of the bootstrap", 1000),
    Parameter("seed", "a whole number from 0: of the draws", 0),
)


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("evaluation", given, _PARAMETERS)
    for name in _LOOKED_UP:
        if found[name] is not None:
            raise found.wrong(name, "it is looked up beside the name of an ontology and a file of outputs")
        del found[name]
    found.digests("observed", "outputs", "truth")
    found.digests("train_truth", optional=True)
    found.text("model")
    found.choice("emits", _EMITS)
    found.flag("hierarchy")
    found.whole("branch_level", 0, optional=True)
    for name, least in (("n_samples", 1), ("top", 1), ("resamples", 1), ("seed", 0)):
        found.whole(name, least)
    for name, most in (("temperature", float("inf")), ("level", 1)):
        found.decimal(name)
        if found[name] is None or not 0 < float(found[name]) < most:
            raise found.wrong(name, "give a decimal number above 0" + (" and below 1" if most == 1 else ""))
    if found["emits"] == "probabilities" and found["temperature"] != "1":
        raise found.wrong("temperature", "it divides logits; say what the model emits: emits=logits")
    return found


def _gather(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """Publish the files, and take from header or bundle what they say."""
    if "snapshot" in given:  # a complete request names digests alone
        return dict(given)
    asked = dict(given)
    name, array, id_column = (_name(asked, parameter) for parameter in _LOOKED_UP)
    for parameter in _LOOKED_UP:
        asked.pop(parameter, None)
    classes: Sequence[str] | None = None
    if name is not None:
        asked, classes = _as_bundle(workspace, asked, name)
    if asked.get("outputs") is not None:
        outputs = _stored(workspace.artifacts, asked, array, id_column)
        observed = _columns(outputs, asked, _observed(workspace.artifacts, asked), classes)
        asked |= {"outputs": outputs.sha256, "n_samples": outputs.n_samples, "observed": observed}
    for truth in ("truth", "train_truth"):
        if asked.get(truth) is not None:
            asked[truth], n = _labelled(workspace.artifacts, asked, truth)
            if truth == "truth" and n != asked.get("n_samples", n):
                raise InputError(
                    f"evaluation: truth is {given[truth]!r} with {n} labels, for {asked['n_samples']} rows "
                    f"of outputs in {given['outputs']!r}; give one label for each row"
                )
    return asked


def _stored(
    artifacts: ArtifactStore, asked: Mapping[str, Any], array: str | None, id_column: str | None
) -> StoredOutputs:
    if is_digest(asked["outputs"]):
        return stored_outputs(artifacts, asked["outputs"])[0]
    return put_outputs(artifacts, _location(asked, "outputs"), array, id_column)


def _labelled(artifacts: ArtifactStore, asked: Mapping[str, Any], truth: str) -> tuple[str, int]:
    """Return the artifact of a truth, and how many labels it holds."""
    if is_digest(asked[truth]):
        return asked[truth], len(read_keys(artifacts, asked[truth]))
    return put_truth(artifacts, _location(asked, truth))


def _observed(artifacts: ArtifactStore, asked: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the labels that the request itself names, or the artifact in it; None where it names none."""
    given = asked.get("observed")
    if is_digest(given):
        return read_keys(artifacts, given)
    if not (given is None or isinstance(given, list | tuple)):
        raise InputError(
            f'evaluation: observed is {given!r:.80}; give a list of label keys, such as ["oak", "elm"]'
        )
    return given


def _columns(
    outputs: StoredOutputs,
    asked: Mapping[str, Any],
    given: Sequence[str] | None,
    classes: Sequence[str] | None,
) -> Sequence[str]:
    """Return the labels of the columns, out of request, header or bundle."""
    header = outputs.columns
    if given is not None and header is not None and list(given) != list(header):
        raise InputError(
            f"evaluation: the header of {asked['outputs']!r} names the columns ({', '.join(header[:3])}, "
            "...), and observed names others, or in another order; leave observed out"
        )
    named = next((list(labels) for labels in (given, header, classes) if labels is not None), None)
    if named is None:
        raise InputError(
            f"evaluation: nothing names the columns of {asked['outputs']!r}; give observed, the label keys "
            "in their order, or a bundle that was built in this order; the header of a .csv or .parquet file "
            "names them itself"
        )
    if len(named) != outputs.n_columns:
        raise InputError(
            f"evaluation: {len(named)} labels are observed, and {asked['outputs']!r} has "
            f"{outputs.n_columns} columns; give one label for each column"
        )
    if classes is not None and sorted(named) != sorted(classes):
        strange = sorted(set(named) ^ set(classes))
        raise InputError(
            f"evaluation: the columns of {asked['outputs']!r} are not the observed labels of the bundle "
            f"({first_few(strange)}); name the bundle of this model, or metric and labels without a bundle"
        )
    return named


def _as_bundle(
    workspace: Workspace, asked: Mapping[str, Any], name: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the request with the version and the space of a bundle, and its observed labels."""
    from labelgrove.adapter.bundles.bundle import Bundle

    both = [parameter for parameter in ("metric", "labels") if parameter in asked]
    if both:
        raise InputError(f"evaluation: bundle is {name!r}, which says {' and '.join(both)}; leave them out")
    ontology, _, version = str(asked.get("ontology", "")).partition("@")
    named = {bundle.name: bundle for bundle in workspace.catalog.bundles(ontology)}
    if name not in named:
        raise NotFoundError(
            f"evaluation: ontology {ontology!r} has no bundle {name!r}; it has {', '.join(named) or 'none'}"
        )
    found = named[name]
    if not found.version.startswith(version):
        raise InputError(
            f"evaluation: bundle {ontology}/{name} is of version {found.version[:12]}, ontology says "
            f"{version}; name the ontology alone: ontology={ontology}"
        )
    held = Bundle.from_arrays(*workspace.artifacts.open_arrays(found.sha256), name=f"{ontology}/{name}")
    labels = list(held.points.take(held.allowed)) if held.labels == "listed" else held.labels
    return {
        **asked,
        "ontology": f"{ontology}@{found.version}",
        "metric": held.metric if held.metric in ("tree", "graph") else "auto",
        "labels": labels,
    }, held.observed_keys


def _name(asked: Mapping[str, Any], parameter: str) -> str | None:
    name = asked.get(parameter)
    if not (name is None or isinstance(name, str)):
        raise InputError(f"evaluation: {parameter} is {name!r:.80}; give its name, as a string, or null")
    return name


def _location(asked: Mapping[str, Any], name: str) -> str:
    location = asked[name]
    if not isinstance(location, str):
        raise InputError(f"evaluation: {name} is {location!r}; give the path or URL of a file, as a string")
    return location


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> bytes:
    from labelgrove.adapter.bundles.bundle import build_bundle
    from labelgrove.adapter.evaluation import evaluate
    from labelgrove.adapter.scorer import Adapter
    from labelgrove.ontology.geometry import TreeSpace, metric_space
    from labelgrove.ontology.results import pack_document

    wanted = work.parameters
    graph = read_graph(work)
    bundle = build_bundle(
        graph,
        read_keys(work.artifacts, wanted["observed"]),
        metric=wanted["metric"],
        labels=read_labels(work),
        ontology={"digest": graph.digest},
    )
    adapter = Adapter(bundle, outputs=wanted["emits"], temperature=float(wanted["temperature"]))
    space = tree = None
    if adapter.space is None:
        space = metric_space(graph, wanted["metric"], list(adapter.keys))
        found = metric_space(graph, "tree") if wanted["hierarchy"] else None
        tree = found if isinstance(found, TreeSpace) and found.is_hierarchy else None
    _, outputs = stored_outputs(work.artifacts, wanted["outputs"])
    training = wanted["train_truth"]
    result = evaluate(
        adapter,
        _watched(outputs, work.check),
        read_keys(work.artifacts, wanted["truth"]),
        space=space,
        train_truth=None if training is None else read_keys(work.artifacts, training),
        hierarchy=tree,
        branch_level=wanted["branch_level"],
        top_k=wanted["top"],
        level=float(wanted["level"]),
        resamples=wanted["resamples"],
        seed=wanted["seed"],
    )
    inputs = {name: wanted[name] for name in ("outputs", "truth", "train_truth")}
    head = {"format": _FORMAT, "model": wanted["model"], "ontology": graph.digest, "inputs": inputs}
    return pack_document({**head, **_renamed(result.to_dict(), _STORED)})


def read_evaluation(artifacts: ArtifactStore, digest: str) -> dict[str, Any]:
    """Return the document of an evaluation, its rules called as `adapter.evaluation.RULES` calls them."""
    from labelgrove.ontology.results import read_document

    return _renamed(read_document(artifacts, digest), {old: new for new, old in _STORED.items()})


def _renamed(document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a document whose rules have other names."""
    called = {names.get(rule, rule): found for rule, found in document["rules"].items()}
    return {**document, "rules": {rule: {**found, "rule": rule} for rule, found in called.items()}}


def _watched(rows: NDArray[Any], check: Callable[[], None]) -> Iterator[NDArray[Any]]:
    """Yield rows some at a time, as long as they are wanted."""
    for start in range(0, len(rows), _ROWS):
        check()
        yield rows[start : start + _ROWS]


def _show(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    document = read_evaluation(artifacts, publication.sha256)
    mean, argmax, constant = (document["rules"][rule] for rule in ("frechet_mean", "argmax", "constant"))
    properties = {
        "model": document["model"],
        "n_samples": document["n_samples"],
        "diameter": document["diameter"],
        "verdict": document["verdict"]["answer"],
        **_interval("error", mean["interval"]),
        **_interval("error_argmax", argmax["interval"]),
        "error_constant": constant["interval"]["mean"],
        **_interval("gain", argmax["difference"]),
        "accuracy": mean["all"]["accuracy"],
        "accuracy_argmax": argmax["all"]["accuracy"],
    }
    return shown_result(publication, open_graph(artifacts, publication.parameters), "Evaluation", properties)


def _interval(name: str, found: Mapping[str, float]) -> dict[str, float]:
    return {name: found["mean"], f"{name}_low": found["low"], f"{name}_high": found["high"]}


def _estimate(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    """Count a branch for each label; seconds are those of a tree, elsewhere sizes tell no diameter's time."""
    n_samples = parameters["n_samples"]
    n_bytes = _BYTES + _BYTES_PER_BRANCH * min(n_labels, n_samples)
    is_tree = parameters["metric"] == "tree" or (parameters["metric"] == "auto" and n_edges == n_labels - 1)
    seconds = (n_labels + n_edges) * OPENING_SECONDS
    seconds += n_samples * (_SECONDS_PER_ROW + parameters["n_observed"] * _SECONDS_PER_OUTPUT)
    return Estimate(1, n_bytes, 3, seconds if is_tree else None)


EVALUATION = JobKind(
    name="evaluation",
    version=3,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    show=_show,
    parameters=_PARAMETERS,
    gather=_gather,
    estimate=_estimate,
)
"""How good the answers to a model's outputs are: `adapter.evaluation.evaluate` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, ``truth`` and
``train_truth``, artifacts with a JSON list of keys; ``outputs``, what `workers.kinds.files.put_outputs`
published; the rest as `evaluate` has it, decimals as strings. The result is the document of the evaluation.
"""
