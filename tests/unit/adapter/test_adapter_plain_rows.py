"""Arrays of probabilities are decided on as they are: the answers, and the refusals, of the ordinary way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from labelgrove.adapter import Adapter, Subtree, build_bundle
from labelgrove.adapter.scorer import Adapter as ScoringAdapter
from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.labelgraph import LabelGraph

pytestmark = pytest.mark.usefixtures("compiled_scoring")

N_LABELS, N_OBSERVED = 900, 300


def made(labels: str = "all", **options: Any) -> ScoringAdapter:
    """An adapter on a tree whose model has its columns in an order of its own."""
    rng = np.random.default_rng(1)
    keys = [f"v{i:03d}" for i in range(N_LABELS)]
    pairs = [(keys[i], keys[max(i - int(rng.integers(1, 30)), 0)]) for i in range(1, N_LABELS)]
    observed = [keys[i] for i in rng.permutation(N_LABELS)[:N_OBSERVED]]
    bundle = build_bundle(LabelGraph.from_edges(pairs), observed, metric="tree", labels=labels)
    return Adapter(bundle, sorted(observed, reverse=True), by="key", **options)


def outputs(n: int = 21) -> NDArray[np.float32]:
    rows = np.random.default_rng(2).dirichlet(np.full(N_OBSERVED, 0.05), n).astype(np.float32)
    rows[::4] = 0
    rows[::4, :4] = 0.25
    return rows


def decision_of(adapter: ScoringAdapter) -> Any:
    return adapter._state.every.decision(adapter._state.order)


def test_the_state_has_a_decision_for_beta_2_alone() -> None:
    for labels in ("all", "leaves"):
        assert decision_of(made(labels)) is not None
        assert decision_of(made(labels, beta=1)) is None
    grid = LabelGraph.grid((3, 3))
    assert decision_of(Adapter.from_graph(grid, ["0,0", "2,2"])) is not None
    assert decision_of(Adapter.from_graph(grid, ["0,0", "2,2"], beta=1)) is None


@pytest.mark.parametrize("labels", ["all", "leaves"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_arrays_of_any_layout_are_answered_as_lists_are(dtype: Any, labels: str, tmp_path: Path) -> None:
    adapter = made(labels)
    rows = outputs().astype(dtype)
    expected = adapter.top_k(rows.tolist(), 1)
    still = rows.copy()
    still.flags.writeable = False
    mapped = np.memmap(tmp_path / "rows", dtype=rows.dtype, mode="w+", shape=rows.shape)
    mapped[:] = rows
    spread = np.zeros((len(rows), 2 * N_OBSERVED), dtype=dtype)
    spread[:, ::2] = rows
    for some in (rows, still, np.asfortranarray(rows), mapped, spread[:, ::2]):
        assert adapter.predict_indices(some).tolist() == expected.indices[:, 0].tolist()
        assert adapter.predict(some) == [keys[0] for keys in expected.keys]
    for row, keys in zip(rows, expected.keys, strict=True):
        assert adapter.predict(row) == adapter.predict(row[None]) == [keys[0]]
    assert adapter.predict(rows[:0]) == []
    assert adapter.predict_indices(rows).dtype == np.int64


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_bfloat16_is_read_as_the_same_numbers_in_float32(kind: str) -> None:
    adapter = made(outputs=kind)
    halves = outputs().astype(ml_dtypes.bfloat16)
    expected = adapter.predict(halves.astype(np.float32))
    for some in (halves, np.asfortranarray(halves), halves[:, ::-1][:, ::-1]):
        assert adapter.predict(some) == expected
    assert adapter.predict(halves[3]) == expected[3:4]
    halves[2, 5] = np.nan
    with pytest.raises(WeightError, match=r"P: row 2, column 5 \(.*\) holds nan"):
        adapter.predict(halves)


def test_many_rows_are_converted_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, rows = made(), outputs()
    monkeypatch.setattr("labelgrove.adapter.answers.deciding._ENTRIES_AT_ONCE", 2 * N_OBSERVED)
    assert adapter.predict(np.asfortranarray(rows)) == adapter.predict(rows)
    rows[20, 7] = np.nan
    with pytest.raises(WeightError, match=r"P: row 20, column 7 \(.*\) holds nan"):
        adapter.predict(np.asfortranarray(rows))


def test_rows_left_open_are_scored_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, rows = made("leaves"), np.repeat(outputs()[::4], 5, axis=0)  # each row has ties
    expected = adapter.top_k(rows, 1).indices[:, 0]
    monkeypatch.setattr("labelgrove.adapter.answers.deciding.rows_at_once", lambda _: 4)
    for some in (rows, np.asfortranarray(rows)):
        assert adapter.predict_indices(some).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("bad", "rule"),
    [(np.nan, "holds nan"), (np.inf, "holds inf"), (-0.5, "holds -0.5"), (0, "row 3 sums to 0.0")],
)
def test_bad_rows_are_refused_and_named(bad: float, rule: str) -> None:
    adapter, rows = made(), outputs()
    if bad == 0:
        rows[[3, 11]] = 0
    else:
        rows[[3, 11], [0, N_OBSERVED - 1]] = bad
    for dtype in (np.float16, np.float32, np.float64):
        with pytest.raises(WeightError, match=rf"P: .*{rule} \(and 1 more of rows 0 to 20\)"):
            adapter.predict(rows.astype(dtype))
        with pytest.raises(WeightError, match="P: row 0"):
            adapter.predict_indices(rows[11].astype(dtype))


def test_shapes_that_do_not_fit_are_refused() -> None:
    adapter = made()
    for wrong in (
        np.ones(N_OBSERVED - 1),
        np.ones((2, N_OBSERVED + 1)),
        np.ones((1, 2, N_OBSERVED)),
        np.ones(()),
    ):
        with pytest.raises(WeightError, match=r"P: (shape|[0-9]+ columns?) .*given"):
            adapter.predict(wrong)
    with pytest.raises(WeightError, match="masked"):
        adapter.predict(np.ma.masked_equal(outputs(), 0))


@pytest.mark.parametrize("labels", ["all", "leaves"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", np.longdouble])
@pytest.mark.parametrize("kind", ["logits", "log_probabilities"])
def test_logits_of_any_layout_are_decided_on_and_answered_as_ranked(
    kind: str, dtype: Any, labels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    logits = np.round(rng.normal(size=(60, N_OBSERVED)) * rng.choice([0.1, 1, 4], size=(60, 1)), 2)
    logits[::4] = -np.inf
    logits[::4, :4] = 1.5  # equal weights, and so ties
    if kind == "log_probabilities":
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True)) + 0.01
    rows = logits.astype(dtype)
    adapter = made(labels, outputs=kind, temperature=1.0 if kind == "logits" else 2.5)
    expected = adapter.top_k(rows, 1).indices[:, 0].tolist()
    monkeypatch.setattr("labelgrove.adapter.answers.batches.ranked", None)  # not for these
    for some in (rows, np.asfortranarray(rows), rows[::-1][::-1], rows.tolist()):
        assert adapter.predict_indices(some).tolist() == expected
    assert [int(adapter.predict_indices(row)[0]) for row in rows] == expected
    monkeypatch.setattr("labelgrove.adapter.answers.deciding._ENTRIES_AT_ONCE", 7 * N_OBSERVED)
    assert adapter.predict_indices(rows).tolist() == expected


@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_logits_next_to_a_tie_are_decided_by_exact_weights(labels: str) -> None:
    # two observed labels at the ends of a path, with a leaf on every vertex between: the mean lies half way
    # between two vertices, but for some units in the last place of a logit
    n = 40
    keys = [f"p{i:02d}" for i in range(n)]
    pairs = [(keys[i], keys[i - 1]) for i in range(1, n)] + [(f"q{i:02d}", keys[i]) for i in range(n)]
    bundle = build_bundle(
        LabelGraph.from_edges(pairs), ["q00", f"q{n - 1:02d}"], metric="tree", labels=labels
    )
    adapter = Adapter(bundle, outputs="logits")
    place = np.arange(2.5, n - 3)
    share = (place + 2) / (n + 3) if labels == "leaves" else (place + 1) / (n + 1)
    rows = np.zeros((len(share), 15, 2))
    rows[:, :, 1] = np.log(share / (1 - share))[:, None]
    for i, step in enumerate(range(-7, 8)):
        rows[:, i, 1] += step * np.spacing(rows[:, i, 1]) * 10.0 ** abs(step)
    rows = rows.reshape(-1, 2)
    expected = adapter.top_k(rows, 1).indices[:, 0]
    assert len(set(expected.tolist())) > n / 2
    assert adapter.predict_indices(rows).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["logits", "log_probabilities"])
@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (np.nan, "holds nan"),
        (np.inf, "holds inf"),
        (-np.inf, "row 3 has the maximum -inf"),
        (0.5, "holds 0.5"),
    ],
)
def test_bad_rows_of_logits_are_refused_and_named(kind: str, bad: float, rule: str) -> None:
    if kind == "logits" and bad == 0.5:
        return
    adapter, rows = made(outputs=kind), np.full((21, N_OBSERVED), -6.0)
    if bad == -np.inf:
        rows[[3, 11]] = bad
    else:
        rows[[3, 11], [0, N_OBSERVED - 1]] = bad
    for dtype in (np.float16, np.float32, np.float64):
        with pytest.raises(WeightError, match=rf"P: .*{rule}.* \(and 1 more of rows 0 to 20\)"):
            adapter.predict(rows.astype(dtype))
        with pytest.raises(WeightError, match="P: row 0"):
            adapter.predict_indices(rows[11].astype(dtype))


def test_temperatures_at_the_limits_of_float32_are_answered_as_ranked() -> None:
    rows = np.random.default_rng(5).normal(size=(9, N_OBSERVED))
    for temperature in (1e-300, 1e-40, 1e-3, 1e3, 1e40, 1e300):
        adapter = made(outputs="logits", temperature=temperature)
        assert adapter.predict_indices(rows).tolist() == adapter.top_k(rows, 1).indices[:, 0].tolist()


@pytest.mark.parametrize("labels", ["all", "leaves"])
@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_give_the_answers_and_refusals_of_one(labels: str, threads: int) -> None:
    adapter, rows = made(labels), outputs()
    expected = adapter.predict(rows)
    sparse = scipy.sparse.csr_matrix(rows)
    for some in (rows, rows[:1], rows[:0], sparse, rows.tolist()):
        assert adapter.predict(some, threads=threads) == expected[: len(adapter.rows(some))]
    each = [None if i % 2 else [adapter.keys[i], adapter.keys[2 * i + 1]] for i in range(len(rows))]
    for candidates in ("leaves", list(adapter.keys[:9]), each):
        found = adapter.predict_indices(rows, candidates=candidates, threads=threads)
        assert found.tolist() == adapter.predict_indices(rows, candidates=candidates).tolist()
    rows[[3, 11], [0, N_OBSERVED - 1]] = np.nan
    with pytest.raises(WeightError, match=r"P: row 3, .*holds nan \(and 1 more of rows 0 to 20\)"):
        adapter.predict(rows, threads=threads)


@pytest.mark.parametrize("refused_from", [0, 2])
def test_rows_for_which_there_is_no_thread_are_answered_all_the_same(
    refused_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter, rows = made(), outputs()
    expected, begun, start = adapter.predict(rows), [], threading.Thread.start

    def started(thread: threading.Thread) -> None:
        if len(begun) >= refused_from:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    assert adapter.predict(rows, threads=5) == expected


@pytest.mark.parametrize("wrong", [0, -1, 1.5, 1.0, True, "2", None, np.array([2, 3])])
def test_a_number_of_threads_is_at_least_one(wrong: Any) -> None:
    with pytest.raises(InputError, match="threads: "):
        made().predict(outputs(), threads=wrong)


def test_candidates_named_by_a_rule_are_decided_on_and_lists_of_keys_are_ranked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adapter, rows = made(), outputs()
    subtree = Subtree(adapter.keys[1])
    below = adapter._state.keys.take(adapter._state.labels(subtree))
    monkeypatch.setattr(
        "labelgrove.adapter.state._SMALL_ENTRIES", 0
    )  # few candidates are otherwise scored one by one
    for candidates in ("leaves", subtree, below):
        ranked = adapter.top_k(rows, 1, candidates=candidates)
        assert adapter.predict(rows, candidates=candidates) == [keys[0] for keys in ranked.keys]
        with pytest.raises(WeightError, match=r"P: row 2, .*no negative number"):
            adapter.predict(np.where(np.arange(21)[:, None] == 2, -rows, rows), candidates=candidates)
    monkeypatch.setattr("labelgrove.adapter.answers.batches.ranked", None)  # not for these
    for candidates in ("leaves", subtree):
        assert len(adapter.predict(rows, candidates=candidates)) == len(rows)
