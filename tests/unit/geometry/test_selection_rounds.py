"""Selections that stop and go on elsewhere, against the same selections in one go."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from labelgrove.datasets.randomgraphs import random_tree, watts_strogatz
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, MetricSpace, metric_space
from labelgrove.ontology.geometry.selections.growingmeasured import MOST_DRAWN
from labelgrove.ontology.geometry.selections.request import checked_request
from labelgrove.ontology.geometry.selections.rounds import SelectionRun
from labelgrove.ontology.geometry.selections.selection import Selection, select_classes, selection_of
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.labelgraph import LabelGraph

SEED = 11


def stopping_spaces(rng: np.random.Generator) -> list[MetricSpace]:
    vectors = rng.standard_normal((9, 2))
    distances = np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
    return [
        metric_space(random_tree(14, seed=SEED)),
        metric_space(random_tree(26, seed=SEED), labels="leaves"),
        CompleteSpace(list("abcdefgh")),
        MatrixSpace(distances, list("abcdefghi")),
        metric_space(watts_strogatz(14, k=4, p=0.2, seed=3)),
    ]


STOPPED: list[dict[str, Any]] = [
    {"n": 4},
    {"n": 5, "required": 2},
    {"n": 1, "required": 1},
    {"n": None},
    {"n": None, "budget": 2.9, "costs": 0.7},
    {"n": 3, "budget": 2.9, "costs": 0.3},
    {"n": 3, "method": "uniform", "seed": 2},
]


@pytest.mark.parametrize(
    ("wanted", "n_observed"),
    [(wanted, n) for wanted in STOPPED for n in (0, 2) if n or "costs" not in wanted],
    ids=repr,
)
def test_a_run_that_stops_after_every_pick_goes_on_as_if_it_had_not(
    wanted: dict[str, Any], n_observed: int
) -> None:
    rng = np.random.default_rng(SEED)
    n_stops = 0
    for space in stopping_spaces(rng):
        keys = space.points.take(rng.permutation(allowed_points(space)))
        options = dict(wanted)
        options["required"] = keys[n_observed : n_observed + options.get("required", 0)]
        if "costs" in options:
            options["costs"] = {key: options["costs"] for key in keys[::2]}

        request = partial(checked_request, space, keys[:n_observed], **options)
        truth = select_classes(space, keys[:n_observed], **options)
        run = SelectionRun(request())
        while not run.ended:
            before = run.n_picks
            run.go_on(1)
            n_stops += not run.ended
            run = SelectionRun(request(), run.standing)
            assert run.ended or run.n_picks == before + 1
        assert same(selection_of(run), truth)
    assert n_stops or wanted["n"] == 1 or wanted.get("method")


def same(one: Selection, other: Selection) -> bool:
    assert (one.index.tolist(), one.gains.tolist()) == (other.index.tolist(), other.gains.tolist())
    said = ("size_before", "upper_bound", "spent", "status")
    assert [getattr(one, word) for word in said] == [getattr(other, word) for word in said]
    return True


def test_what_is_drawn_goes_on_where_it_stopped() -> None:
    space = metric_space(watts_strogatz(2 * MOST_DRAWN, k=4, p=0.1, seed=1))
    observed = space.keys.take([3, 70])
    truth = select_classes(space, observed, 2, seed=5)
    run = SelectionRun(checked_request(space, observed, 2, seed=5))
    while not run.ended:
        run.go_on(1)
        run = SelectionRun(checked_request(space, observed, 2, seed=5), run.standing)
    assert same(selection_of(run), truth)


def test_a_run_that_has_not_ended_is_no_selection_yet() -> None:
    space = metric_space(LabelGraph.grid((3, 4)))
    run = SelectionRun(checked_request(space, [space.keys[0]], 2))
    run.go_on(1)
    with pytest.raises(InputError, match="run: 1 labels are picked and more may follow; call go_on"):
        selection_of(run)
