"""Test that the Fréchet mean on the complete graph equals argmax, ties included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import Finding, Verdict
from labelgrove.experiments.experiment import Claim, Experiment, Record, Summary, Table
from labelgrove.experiments.measuring import check_argmax

__all__ = ["EXPERIMENT", "CompleteGraph", "Settings"]

_KINDS = ("probabilities", "votes of five neighbors", "float32", "saturated")


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    The rows are probability vectors. `sizes` are the numbers K of their columns. In each unit, `n_rows` rows
    of each of four types are drawn (`CompleteGraph.measure`).
    """

    sizes: tuple[int, ...] = (2, 10, 100)
    seeds: tuple[int, ...] = tuple(range(20))
    n_rows: int = 2000


class CompleteGraph(Experiment[Settings, None]):
    """Compare the Fréchet mean with argmax on random probability vectors, with columns in random order.

    If the Fréchet mean and argmax differ on a vector, the run stops with an error.
    """

    claim = Claim(
        name="complete-graph",
        sentence="On the complete graph the Fréchet mean equals argmax, so that it generalizes it",
        source="complete graph; 0-1 error",
        inputs="random rows, a quarter of them full of ties",
    )

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        return Settings(sizes=(2, 10), seeds=(0, 1), n_rows=200) if quick else Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each K in `sizes` and each seed."""
        return [{"K": k, "seed": seed} for k in settings.sizes for seed in settings.seeds]

    def prepare(self, settings: Settings, files: Files | None) -> None:
        """Load nothing, because `measure` draws the rows."""

    def measure(self, data: None, settings: Settings, unit: Record) -> Record:
        """Compare the Fréchet mean with argmax on rows of four types.

        The types are: shares of five votes, many of them tied; uniformly random probabilities; these random
        probabilities in float32; and these random probabilities made sharp, so that nearly all probability is
        in one column. If the Fréchet mean and argmax differ on a row, raise `ArgmaxIdentityError`.
        """
        k = unit["K"]
        rng = np.random.default_rng((unit["seed"], k))
        columns = [f"class {i}" for i in rng.permutation(k).tolist()]
        votes = rng.multinomial(5, np.full(k, 1 / k), settings.n_rows) / 5
        rows = rng.dirichlet(np.ones(k), settings.n_rows)
        sharp = np.exp(np.log(rows) / 0.01 - (np.log(rows) / 0.01).max(axis=1, keepdims=True))
        kinds = (rows, votes, rows.astype(np.float32), sharp / sharp.sum(axis=1, keepdims=True))
        ties = int(((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum())
        return {"tied": ties, "checked_rows": sum(check_argmax(columns, kind) for kind in kinds)}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Report how many rows were checked.

        The Fréchet mean and argmax are equal on all of them, because the run stops at the first difference.
        """
        rows = []
        for k in settings.sizes:
            found = [result for unit, result in results if unit["K"] == k]
            rows.append((k, sum(f["checked_rows"] for f in found), sum(f["tied"] for f in found)))
        total = sum(row[1] for row in rows)
        finding = Finding(
            self.claim.sentence,
            Verdict.HOLDS,
            f"equal on all {total:,} rows, {sum(row[2] for row in rows):,} of them with tied columns",
        )
        title = f"Rows of four kinds ({', '.join(_KINDS)}) on which both answers were compared."
        return Summary((finding,), (Table(title, ("K", "rows", "rows with ties"), tuple(rows)),))


EXPERIMENT = CompleteGraph()
