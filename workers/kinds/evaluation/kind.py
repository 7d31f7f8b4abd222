"""The kind `evaluation`: compare the answers for a model's outputs with the true labels, on one version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from labelgrove.workers.kinds.evaluation.file import FORMAT, pack_evaluation, read_evaluation
from labelgrove.workers.kinds.evaluation.gathering import LOOKED_UP, gather
from labelgrove.workers.kinds.inputs import read_graph, read_keys, read_labels
from labelgrove.workers.kinds.kind import (
    OPENING_SECONDS,
    Description,
    Estimate,
    JobKind,
    JobResult,
    Step,
    Subject,
    Work,
)
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters
from labelgrove.workers.kinds.requestfiles import stored_outputs

if TYPE_CHECKING:
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["EVALUATION"]

_ROWS = 4096  # measured between two checks whether the work is still wanted
_SECONDS_PER_ROW, _SECONDS_PER_OUTPUT = 1e-5, 5e-7
_BYTES, _BYTES_PER_BRANCH = 65_536, 6_000  # of the document

_EMITS = ("probabilities", "log_probabilities", "logits")

_PARAMETERS = (
    *SPACE,
    Parameter(
        "observed",
        "label keys, in the order of the columns; a header of the outputs or a bundle can name them instead",
        keys=True,
        ordered=True,
        filled=True,
    ),
    Parameter(
        "bundle",
        "name of a bundle of the ontology, in place of metric, labels and observed; or null",
        None,
        text=True,
    ),
    Parameter("model", "any text: a name for the model, by which its evaluations are found", text=True),
    Parameter("outputs", "a file with the outputs of the model, or its URL", file=True),
    Parameter("array", "name of the array to read from a file with several arrays; or null", None, text=True),
    Parameter("id_column", "name of the column that names the rows; or null", None, text=True),
    Parameter("truth", "a file with a label key for each row, or its URL", file=True),
    Parameter(
        "train_truth",
        "a file with a label key for each training sample, to choose the constant answer; or null",
        None,
        file=True,
    ),
    Parameter("n_samples", "number of rows of the outputs", filled=True),
    Parameter("emits", "kind of the outputs: probabilities, log_probabilities or logits", "probabilities"),
    Parameter("temperature", "a decimal number above 0, by which logits are divided", "1"),
    Parameter(
        "hierarchy",
        "true or false: on a graph metric, take ancestors and branches from the primary parents",
        False,
    ),
    Parameter(
        "branch_level",
        "a whole number, 0 or more: depth of the labels that count as branches, 1 for the children of the "
        "root; or null: the smallest depth at which no branch contains more than half of the samples",
        None,
    ),
    Parameter("top", "a whole number, 1 or more: the k of top-k accuracy", 5),
    Parameter(
        "level", "a decimal number between 0 and 1: confidence level of the bootstrap intervals", "0.95"
    ),
    Parameter("resamples", "a whole number, 1 or more: number of bootstrap draws", 1000),
    Parameter("seed", "a whole number, 0 or more: seed of the bootstrap", 0),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    del subject
    found = Parameters.of_space("evaluation", given, _PARAMETERS)
    for name in LOOKED_UP:
        if found[name] is not None:
            raise found.wrong(name, "give it only with the name of an ontology and a file of outputs")
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
        raise found.wrong("temperature", "it divides logits; if the outputs are logits, give emits=logits")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> bytes:
    from labelgrove.adapter.bundles.bundle import build_bundle
    from labelgrove.adapter.evaluation import evaluate
    from labelgrove.adapter.scorer import Adapter
    from labelgrove.ontology.geometry import TreeSpace, metric_space

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
    head = {"format": FORMAT, "model": wanted["model"], "ontology": graph.digest, "inputs": inputs}
    return pack_evaluation({**head, **result.to_dict()})


def _watched(rows: NDArray[Any], check: Callable[[], None]) -> Iterator[NDArray[Any]]:
    """Yield the rows of the outputs in batches, and call `check` before each batch.

    `check` raises an error if no job wants the work any more.
    """
    for start in range(0, len(rows), _ROWS):
        check()
        yield rows[start : start + _ROWS]


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    """Estimate the size and the time of an evaluation.

    The document describes each branch of the hierarchy that contains samples (see the parameter
    ``branch_level``). There are at most as many such branches as labels, and at most as many as samples. A
    time is estimated only for a tree metric: for other metrics, the time to find the diameter is unknown.
    """
    n_labels, n_samples = subject.n_labels, parameters["n_samples"]
    n_bytes = _BYTES + _BYTES_PER_BRANCH * min(n_labels, n_samples)
    seconds = (n_labels + subject.n_edges) * OPENING_SECONDS
    seconds += n_samples * (_SECONDS_PER_ROW + subject.n_keys["observed"] * _SECONDS_PER_OUTPUT)
    return Estimate(1, n_bytes, 3, seconds if subject.space_kind(parameters) == "tree" else None)


def _show(result: JobResult) -> GraphResult:
    document = read_evaluation(result.artifacts, result.sha256)
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
    return result.node("Evaluation", properties)


def _interval(name: str, found: Mapping[str, float]) -> dict[str, float]:
    return {name: found["mean"], f"{name}_low": found["low"], f"{name}_high": found["high"]}


def _describe(workspace: Workspace, result: JobResult) -> Description:
    from labelgrove.adapter.evaluation.text import rule_name

    del workspace
    found = read_evaluation(result.artifacts, result.sha256)
    rows = [
        (
            rule_name(rule),
            *(measures["interval"][name] for name in ("mean", "low", "high")),
            measures["all"]["accuracy"],
        )
        for rule, measures in found["rules"].items()
    ]
    verdict = found["verdict"]
    line = f"{found['model']} on {found['n_samples']:,} samples: {verdict['answer']}: {verdict['reason']}"
    columns = ("rule", "error", "low", "high", "accuracy")
    return Description(line, {"document": found}, columns, rows, is_document=True)


EVALUATION = JobKind(
    name="evaluation",
    version=3,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    parameters=_PARAMETERS,
    gather=gather,
    estimate=_estimate,
    show=_show,
    describe=_describe,
)
"""Measure how good the answers to the outputs of a model are: `adapter.evaluation.evaluate` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, ``truth`` and
``train_truth``, artifacts with a JSON list of keys; ``outputs``, an artifact that
`workers.kinds.requestfiles.put_outputs` published; and the other parameters of `evaluate`, decimals as
strings. The result is the document of the evaluation.
"""
