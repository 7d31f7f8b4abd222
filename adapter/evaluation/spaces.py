"""Compare metric spaces over the same labels for one model, by mean squared error / diameter^2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.evaluation.evaluating import evaluate
from labelgrove.adapter.evaluation.result import Evaluation
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.adapter.outputs.rowblocks import OutputStream
from labelgrove.adapter.scorer import Adapter
from labelgrove.adapter.texttable import Table
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MetricSpace

__all__ = ["compare_spaces"]


@dataclass(frozen=True)
class SpaceComparison:
    """The evaluations of one model in several spaces.

    Attributes
    ----------
    evaluations : tuple of (str, Evaluation)
        A pair for each space, in the given order: the name of the space, and the evaluation in it.
    """

    evaluations: tuple[tuple[str, Evaluation], ...]

    @property
    def best(self) -> str | None:
        """Name of the space in which the Fréchet mean has the smallest error, relative to the space's size.

        The error is E[d^2], the mean squared distance from the answers to the truth, divided by the squared
        diameter of the space. If several spaces tie, the first is returned; None if no space has a diameter
        above 0.
        """
        found = [(e["frechet_mean"].all.normalized, name) for name, e in self.evaluations]
        known = [(value, i) for i, (value, _) in enumerate(found) if value is not None]
        return found[min(known)[1]][1] if known else None

    def to_dict(self) -> dict[str, Any]:
        """Return the scores of each space as dicts and numbers that JSON can represent."""
        rows = {
            name: {"diameter": e.diameter, **{r.rule: asdict(r.all) for r in e.rules}}
            for name, e in self.evaluations
        }
        return {"best": self.best, "spaces": rows}

    def table(self) -> Table:
        """Return a table with one row per space.

        Each row contains the diameter; E[d^2] / diameter^2 of the Fréchet mean, of argmax and of the constant
        rule; and the accuracy of the Fréchet mean.
        """
        rows = [
            (
                name,
                e.diameter,
                *(e[rule].all.normalized for rule in ("frechet_mean", "argmax", "constant")),
                e["frechet_mean"].all.accuracy,
            )
            for name, e in self.evaluations
        ]
        columns = ("space", "diameter", "E[d²]/diam²", "argmax", "constant", "accuracy")
        return Table("E[d²] / diameter² by space", columns, tuple(rows))


def compare_spaces(
    spaces: Mapping[str, MetricSpace],
    P: OutputStream,
    truth: Iterable[str],
    *,
    observed: Iterable[str],
    train_truth: Iterable[str] | None = None,
    outputs: OutputKind = "probabilities",
    temperature: float = 1.0,
) -> SpaceComparison:
    """Evaluate the same outputs in several metric spaces over the same allowed labels.

    Parameters
    ----------
    spaces : mapping of str to MetricSpace
        The spaces, by name; each must contain the truths and the observed labels.
    P, truth, observed, train_truth
        As for `adapter.evaluation.evaluate`; P is read once for each space, so it cannot be an iterator.
    outputs, temperature
        As for `Adapter`.

    Raises
    ------
    InputError
        If no space is given, for an iterator, and for spaces whose allowed labels differ. The errors of
        `evaluate` may be raised too.

    Examples
    --------
    >>> from labelgrove.ontology.geometry import CompleteSpace, metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> tree = metric_space(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("moss", "tree")]))
    >>> spaces = {"tree": tree, "flat": CompleteSpace(tree.keys)}
    >>> found = compare_spaces(spaces, [[0.5, 0.5, 0.0]], ["elm"], observed=["oak", "elm", "moss"])
    >>> found.best, [e["frechet_mean"].all.normalized for _, e in found.evaluations]
    ('flat', [0.25, 0.0])
    """
    if not spaces:
        raise InputError("spaces: none given; give at least one, by name")
    if hasattr(P, "__next__"):
        raise InputError(
            "P: an iterator can be read once, but every space needs all rows; give an array or an OutputFile"
        )
    first = next(iter(spaces))
    for name, space in spaces.items():
        if set(space.keys) != set(spaces[first].keys):
            raise InputError(
                f"spaces: {name!r} and {first!r} allow different labels ({space.n_labels} and "
                f"{spaces[first].n_labels}); give spaces with the same allowed labels"
            )
    truths, columns = list(truth), list(observed)
    training = None if train_truth is None else list(train_truth)
    found = []
    for name, space in spaces.items():
        adapter = Adapter(build_bundle(space, columns), outputs=outputs, temperature=temperature)
        found.append((name, evaluate(adapter, P, truths, space=space, train_truth=training)))
    return SpaceComparison(tuple(found))
