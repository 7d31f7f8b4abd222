"""However a request is cut into units, the result has the same bytes; and these bytes are fixed."""

from __future__ import annotations

import numpy as np
import pytest

from labelgrove.datasets.randomgraphs import watts_strogatz
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ConflictError
from labelgrove.ontology.geometry import locus, metric_space
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import Subject, Work, find_kind, kind_named
from labelgrove.workers.kinds.distances import read_distances
from labelgrove.workers.kinds.locus.file import read_locus
from labelgrove.workers.kinds.selection import read_selection
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.request import complete_request
from tests.integration.workers_support import add_version, settings_in

SMALL_WORLD = watts_strogatz(120, k=4, p=0.2, seed=3)
SEEN = SMALL_WORLD.keys.take([3, 50, 77, 90, 111, 20])
LENGTHS = LabelGraph.from_edges(
    [
        ("n1", "n0"),
        ("n2", "n1"),
        ("n3", "n2"),
        ("n4", "n3"),
        ("n5", "n4"),
        ("n5", "n0"),
        ("n6", "n2"),
        ("n7", "n6"),
    ],
    weights=[0.1, 0.7, 1.3, 2.2, 0.9, 0.3, 0.5, 1.1],
    directed=False,
)
TREE = LabelGraph.from_edges([(f"{i:02d}", f"{(i - 1) // 2:02d}") for i in range(1, 25)])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with Workspace.open(settings_in(tmp_path_factory.mktemp("home"))) as workspace:
        add_version(workspace, "small-world", SMALL_WORLD)
        add_version(workspace, "tree", TREE)
        add_version(workspace, "lengths", LENGTHS)
        yield workspace


def result(workspace, kind, ontology, options=None, **keys):
    job = client.submit(workspace, kind, {"ontology": ontology, **(options or {}), **keys})
    assert (job.state, job.error) == (State.DONE, None)
    return job


def test_a_locus_is_the_same_in_any_number_of_parts(workspace):
    jobs = {
        parts: result(workspace, "locus", "small-world", {"block": 20, "parts": parts}, observed=SEEN)
        for parts in (1, 4, 6)
    }
    assert {parts: sum(job.units.values()) for parts, job in jobs.items()} == {1: 1, 4: 5, 6: 7}
    assert len({job.result_sha256 for job in jobs.values()}) == 1
    found = read_locus(workspace.artifacts, jobs[6].result_sha256, SMALL_WORLD)
    truth = locus(metric_space(SMALL_WORLD), SEEN)
    assert (found.members, found.unique, found.status) == (truth.members, truth.unique, "exact")
    squared = metric_space(SMALL_WORLD).distances(cols=found.points).astype(np.int64) ** 2
    for member, weights in zip(found.index.tolist(), found.witnesses, strict=True):
        sums = squared @ np.array(weights)
        assert sums[member] == sums.min()
        assert (sums == sums.min()).sum() == 1 or member not in found.unique_index


@pytest.mark.parametrize(
    ("ontology", "labels", "observed", "most"),
    [("small-world", "all", SEEN, 5), ("lengths", "all", ["n1", "n5", "n7", "n3"], 3)],
)
def test_a_locus_by_pairs_is_the_same_in_any_number_of_parts(workspace, ontology, labels, observed, most):
    options = {"method": "pairs", "labels": labels}
    jobs = [
        result(workspace, "locus", ontology, {**options, "parts": parts}, observed=observed)
        for parts in (1, 2, most)
    ]
    assert [job.units["done"] for job in jobs] == [1, 3, most + 1]
    assert len({job.result_sha256 for job in jobs}) == 1
    graph = workspace.label_graph(ontology)
    found = read_locus(workspace.artifacts, jobs[-1].result_sha256, graph)
    truth = locus(metric_space(graph, labels=labels), observed, method="pairs")
    assert (found.members, found.unique, found.status) == (truth.members, truth.unique, truth.status)
    assert list(found.witnesses) == list(truth.witnesses)


@pytest.mark.parametrize(
    ("ontology", "options", "keys", "parts"),
    [
        ("small-world", {"n": 3}, {"observed": SEEN[:2], "candidates": SEEN[2:]}, (1, 2, 3)),
        ("small-world", {"n": 4}, {"required": SEEN[:3]}, (1, 3)),
        ("lengths", {"budget": "2.5"}, {"observed": ["n1"], "costs": {"n2": "0.1", "n5": "0.7"}}, (1, 5)),
        ("lengths", {}, {"observed": ["n1"]}, (1, 3)),
        ("tree", {"labels": "leaves"}, {"observed": ["20"]}, (1, 4)),
        ("tree", {"n": 3}, {"observed": ["20"]}, (1, 3)),
    ],
)
def test_a_selection_is_the_same_in_any_number_of_parts(workspace, ontology, options, keys, parts):
    jobs = [result(workspace, "selection", ontology, {**options, "parts": n}, **keys) for n in parts]
    assert [job.units["done"] for job in jobs] == list(parts)
    assert len({job.result_sha256 for job in jobs}) == 1
    found = read_selection(workspace.artifacts, jobs[0].result_sha256, workspace.label_graph(ontology))
    assert len(found) > 1


def test_a_part_of_a_selection_goes_on_from_the_picks_before_it(workspace):
    """With the picks of another selection as its input, it ends in another one."""
    parameters, other = (
        complete_request(
            workspace,
            kind_named("selection"),
            {"ontology": "small-world", "n": 4, "parts": 2, "observed": SEEN[i : i + 1]},
        )
        for i in (0, 1)
    )
    kind = find_kind("selection")

    def first(asked):
        product = kind.execute(
            Work({**asked, "part": 0}, (), workspace.artifacts, lambda: None, workspace, lambda: None)
        )
        return workspace.artifacts.put_arrays(product.arrays, product.metadata)

    ends = [
        kind.execute(
            Work(parameters, (first(asked),), workspace.artifacts, lambda: None, workspace, lambda: None)
        )
        for asked in (parameters, other)
    ]
    picks = [end.arrays["index"].tolist() for end in ends]
    assert [len(some) for some in picks] == [4, 4]
    assert picks[0][:2] != picks[1][:2]


def test_distances_are_the_same_in_blocks_of_any_width(workspace):
    jobs = [result(workspace, "distances", "small-world", {"block": block}) for block in (500, 50, 7)]
    assert [job.units["done"] for job in jobs] == [1, 4, 19]
    assert len({job.result_sha256 for job in jobs}) == 1
    block = read_distances(workspace.artifacts, jobs[0].result_sha256, SMALL_WORLD)
    np.testing.assert_array_equal(block.distances(), metric_space(SMALL_WORLD).distances())


def test_the_number_of_parts_follows_from_the_space(workspace):
    def parts(ontology, options=None, **keys):
        observed = [workspace.label_graph(ontology).keys[0]]
        asked = {"ontology": ontology, "observed": observed, **(options or {}), **keys}
        return complete_request(workspace, kind_named("locus"), asked)["parts"]

    assert parts("small-world") == 1
    assert parts("small-world", {"block": 50}) == 3
    assert parts("small-world", {"block": 1}) == 120
    assert parts("small-world", {"block": 20}, labels=SEEN) == 1
    assert parts("small-world", {"block": 20, "parts": 2}) == 2
    assert parts("small-world", {"block": 20, "method": "pairs"}) == 1
    assert parts("small-world", {"method": "pairs"}, observed=SEEN) == 1
    assert parts("tree", {"block": 1}) == 1
    assert parts("tree", {"block": 10, "metric": "graph"}) == 3


class TallGraph:
    """The sizes of a graph, which is all that the number of parts is chosen from."""

    layout = "hierarchy"

    def __init__(self, n_labels, *, is_tree=False, is_weighted=False):
        self.n_labels, self.is_tree, self.is_weighted = n_labels, is_tree, is_weighted
        self.n_edges = n_labels - 1 if is_tree else 2 * n_labels
        self.leaf_mask = np.arange(n_labels) % 4 > 0


@pytest.mark.parametrize(
    ("kind", "graph", "options", "counts", "parts"),
    [
        ("locus", TallGraph(82_115), {"method": "pairs"}, {"observed": 100}, 1),
        ("locus", TallGraph(82_115), {"method": "pairs"}, {"observed": 1_000}, 5),
        ("locus", TallGraph(82_115, is_weighted=True), {"method": "pairs"}, {"observed": 1_000}, 55),
        ("locus", TallGraph(325_056, is_tree=True), {"method": "pairs"}, {"observed": 5_000}, 407),
        ("locus", TallGraph(10**7, is_weighted=True), {"method": "pairs"}, {"observed": 5}, 1),
        ("selection", TallGraph(82_115), {"n": 1}, {"observed": 50}, 1),
        ("selection", TallGraph(82_115), {"n": 20}, {"observed": 50}, 3),
        ("selection", TallGraph(82_115), {"n": 20}, {"observed": 50, "candidates": 160}, 20),
        ("selection", TallGraph(82_115, is_tree=True), {"n": 20}, {"observed": 50}, 1),
        ("selection", TallGraph(82_115, is_tree=True), {"n": 40, "labels": "leaves"}, {"observed": 200}, 5),
        ("selection", TallGraph(82_115), {"n": 20, "method": "uniform"}, {"observed": 50}, 1),
        ("selection", TallGraph(82_115), {}, {"observed": 50}, 1_000),
    ],
)
def test_units_take_about_as_long_however_large_the_request(kind, graph, options, counts, parts):
    asked = {"ontology": "a" * 64, "snapshot": "b" * 64, "observed": "c" * 64, **options}
    if "candidates" in counts:
        asked["candidates"] = "d" * 64
    assert find_kind(kind).complete(asked, Subject.of(graph, counts))["parts"] == parts


@pytest.mark.parametrize(
    ("ontology", "options", "message"),
    [
        ("tree", {"parts": 2}, "in a tree space, a locus has 1 part"),
        ("small-world", {"parts": 7, "block": 20}, "120 labels make 6 blocks of 20"),
    ],
)
def test_parts_that_do_not_fit_fail_the_job(workspace, ontology, options, message):
    seen = [workspace.label_graph(ontology).keys[0]]
    job = client.submit(workspace, "locus", {"ontology": ontology, **options, "observed": seen})
    assert job.state is State.FAILED
    assert message in job.error


class _TooOftenError(ConflictError):
    """What the work is told when it is not wanted any more."""


@pytest.mark.parametrize(
    ("kind", "options", "keys", "checks"),
    [
        ("locus", {"block": 20, "parts": 1}, {"observed": SEEN}, 7),
        ("distances", {}, {}, 1),
        ("cover", {"method": "phylogenetic"}, {}, 1),
        ("locus", {"method": "pairs"}, {"observed": SMALL_WORLD.keys.take(range(40))}, 4),
        ("selection", {"n": 1}, {"observed": SEEN}, 1),
        ("selection", {"n": 3}, {"observed": SEEN}, 3),
        ("summary", {"target": 3}, {}, 1),
    ],
)
def test_work_that_is_not_wanted_any_more_stops_at_the_next_part(workspace, kind, options, keys, checks):
    parameters = complete_request(workspace, kind_named(kind), {"ontology": "small-world", **options, **keys})
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == checks:
            raise _TooOftenError("nobody wants it")

    with pytest.raises(_TooOftenError):
        find_kind(kind).execute(Work(parameters, (), workspace.artifacts, check, workspace, lambda: None))


GOLDEN = {
    "cover": (
        1,
        "tree",
        {"labels": "leaves", "method": "small"},
        {},
        "9d65b23f2409df7eb4cff57025a34cf45ac1e089a4eaa0ecd6a5f2cc456ef96f",
    ),
    "distances": (
        1,
        "tree",
        {"block": 10},
        {},
        "5d7bee50044f334a1a5255b4abefadd5dba2f156888956bb87a564844b3748d5",
    ),
    "locus": (
        4,
        "tree",
        {"method": "pairs", "metric": "graph"},
        {"observed": ["00", "24", "11"]},
        "96aba264517b078cb23720551233f524d2e166cf5ce67f702ee52300d84c2b94",
    ),
    "selection": (
        2,
        "tree",
        {"n": 3, "method": "outside", "seed": 4},
        {"observed": ["00"]},
        "3b4a6ff851ab937218083d6615fd5f95b9cc2996e60b17a07b6409bb5e1c4259",
    ),
    "summary": (
        1,
        "tree",
        {"target": 4, "seed": 2},
        {},
        "48eb94ff290267a6091370cdce578273bb4929fd9aeee4317593c01ae02e009b",
    ),
}


@pytest.mark.parametrize("kind", sorted(GOLDEN))
def test_the_bytes_of_each_kind_are_fixed(workspace, kind):
    # A change here means other bytes for the same key: raise the version of the kind with it.
    version, ontology, options, keys, digest = GOLDEN[kind]
    job = result(workspace, kind, ontology, options, **keys)
    assert (job.version, job.result_sha256) == (version, digest)
