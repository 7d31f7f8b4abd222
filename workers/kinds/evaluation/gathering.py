"""Turn the files and the bundle that an evaluation request names into digests and label keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError, NotFoundError, first_few
from labelgrove.workers.kinds.inputs import named_version, open_version, read_keys
from labelgrove.workers.kinds.parameters import is_digest
from labelgrove.workers.kinds.requestfiles import StoredOutputs, put_outputs, put_truth, stored_outputs

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["LOOKED_UP", "gather"]

LOOKED_UP = ("bundle", "array", "id_column")
"""Parameters that only say how to read other parameters; `gather` removes them."""


def gather(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """Publish the files that a request names, and return the completed request.

    What the request leaves out is taken from the bundle that it names, or from the header of its outputs.
    """
    if "ontology" not in given or "snapshot" in given:  # a complete request names only digests
        return dict(given)
    asked = dict(given)
    name, array, id_column = (_name(asked, parameter) for parameter in LOOKED_UP)
    for parameter in LOOKED_UP:
        asked.pop(parameter, None)
    classes: Sequence[str] | None = None
    if name is not None:
        asked, classes = _as_bundle(workspace, asked, name)
    version = workspace.catalog.version(*named_version(workspace, asked["ontology"]))
    graph = open_version(workspace.artifacts, version)
    observed = _observed(workspace.artifacts, asked)
    if asked.get("outputs") is not None:
        known = classes if observed is None else observed
        outputs = _stored(workspace.artifacts, asked, graph, known, array=array, id_column=id_column)
        observed = _columns(outputs, asked, observed, classes)
        asked |= {"outputs": outputs.sha256, "n_samples": outputs.n_samples, "observed": observed}
    for truth in ("truth", "train_truth"):
        if asked.get(truth) is not None:
            asked[truth], n = _labeled(workspace.artifacts, asked, truth, graph, len(observed or ()))
            if truth == "truth" and n != asked.get("n_samples", n):
                raise InputError(
                    f"evaluation: truth is {given[truth]!r} with {n} labels, for {asked['n_samples']} rows "
                    f"of outputs in {given['outputs']!r}; give one label for each row"
                )
    return asked


def _stored(
    artifacts: ArtifactStore,
    asked: Mapping[str, Any],
    graph: LabelGraph,
    observed: Sequence[str] | None,
    **named: str | None,
) -> StoredOutputs:
    if is_digest(asked["outputs"]):
        return stored_outputs(artifacts, asked["outputs"])[0]
    emits = asked.get("emits", "probabilities")
    return put_outputs(artifacts, _location(asked, "outputs"), graph, observed, emits=emits, **named)


def _labeled(
    artifacts: ArtifactStore, asked: Mapping[str, Any], truth: str, graph: LabelGraph, n_observed: int
) -> tuple[str, int]:
    """Return the digest of the artifact with the true labels, and their number.

    If the request names a file instead of an artifact, the file is published first.
    """
    if is_digest(asked[truth]):
        return asked[truth], len(read_keys(artifacts, asked[truth]))
    return put_truth(artifacts, _location(asked, truth), graph, n_observed)


def _observed(artifacts: ArtifactStore, asked: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the observed labels that a request lists or names as an artifact; None if it does neither."""
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
    """Return the label key of each column of the outputs.

    The keys come from the request, else from the header of the outputs, else from the bundle. Raise
    `InputError` if two of these disagree, if none names the columns, or if the number of keys is wrong.
    """
    header = outputs.columns
    if given is not None and header is not None and list(given) != list(header):
        raise InputError(
            f"evaluation: the header of {asked['outputs']!r} names the columns ({', '.join(header[:3])}, "
            "...), but the parameter observed names other columns, or another order; leave the parameter out"
        )
    named = next((list(labels) for labels in (given, header, classes) if labels is not None), None)
    if named is None:
        raise InputError(
            f"evaluation: nothing names the columns of {asked['outputs']!r}; give the parameter "
            "observed (the label keys, in the order of the columns), or a bundle with observed labels in "
            "this order, or a .csv, .parquet or .arrow file, whose header names the columns"
        )
    if len(named) != outputs.n_columns:
        raise InputError(
            f"evaluation: {len(named)} labels are observed, but {asked['outputs']!r} has "
            f"{outputs.n_columns} columns; give one label for each column"
        )
    if classes is not None and sorted(named) != sorted(classes):
        strange = sorted(set(named) ^ set(classes))
        raise InputError(
            f"evaluation: the columns of {asked['outputs']!r} are not the observed labels of the bundle; "
            f"they differ in {first_few(strange)}; give the bundle of this model, or leave out "
            "bundle and give the parameters metric and labels"
        )
    return named


def _as_bundle(
    workspace: Workspace, asked: Mapping[str, Any], name: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a pair: the request, completed from the bundle `name`, and the observed labels of the bundle.

    The version, metric and labels of the request become those of the bundle.
    """
    from labelgrove.adapter.bundles.bundle import Bundle

    both = [parameter for parameter in ("metric", "labels") if parameter in asked]
    if both:
        raise InputError(
            f"evaluation: bundle is {name!r}, which decides {' and '.join(both)}; leave "
            f"{' and '.join(both)} out"
        )
    ontology, _, version = str(asked.get("ontology", "")).partition("@")
    named = {bundle.name: bundle for bundle in workspace.catalog.bundles(ontology)}
    if name not in named:
        raise NotFoundError(
            f"evaluation: ontology {ontology!r} has no bundle {name!r}; it has {', '.join(named) or 'none'}"
        )
    found = named[name]
    if not found.version.startswith(version):
        raise InputError(
            f"evaluation: bundle {ontology}/{name} is of version {found.version[:12]}, but ontology names "
            f"version {version}; name the ontology without a version: ontology={ontology}"
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
        raise InputError(f"evaluation: {parameter} is {name!r:.80}; give a name as a string, or null")
    return name


def _location(asked: Mapping[str, Any], name: str) -> str:
    location = asked[name]
    if not isinstance(location, str):
        raise InputError(f"evaluation: {name} is {location!r}; give the path or URL of a file, as a string")
    return location
