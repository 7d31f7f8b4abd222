"""The compiled search over all labels of a tree: the answers of numpy, however rows are laid out."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError, WeightError
from labelgrove.ontology.geometry import FrechetResult, TreeSpace
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.keys import Keys
from tests.decisions import answers_of

N_ROWS = 37  # no multiple of the rows that are searched together


def space_of(parent: NDArray[np.int64], length: NDArray[np.float64] | None = None) -> TreeSpace:
    return TreeSpace.from_arrays(Keys.from_strings(f"{i:06d}" for i in range(len(parent))), parent, length)


def grown(n: int, seed: int, *, weighted: bool = False, deep: bool = False) -> TreeSpace:
    """A tree in which label i hangs on an earlier one, a near one where it is to be deep."""
    rng = np.random.default_rng(seed)
    child = np.arange(1, n)
    near = np.maximum(child - 1 - rng.geometric(0.5, n - 1), 0)
    parent = np.where(deep, near, (child * rng.beta(2.0, 1.6, n - 1)).astype(np.int64))
    length = rng.choice([0.25, 0.1, 1.0, 3.7], n) if weighted else None
    return space_of(np.concatenate([[-1], parent]), length)


def drawn_rows(k: int, seed: int, n: int = N_ROWS) -> NDArray[np.float64]:
    """Flat and peaked probabilities, votes of five neighbors, even splits, a single label."""
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(n, k))
    peaked = np.exp(4.0 * rng.standard_normal((n, k)))
    rows[1::5] = (peaked / peaked.sum(axis=1, keepdims=True))[1::5]
    for r in range(2, n, 5):
        rows[r] = np.bincount(rng.integers(0, k, 5), minlength=k)
    for r in range(3, n, 5):
        rows[r] = np.isin(np.arange(k), rng.integers(0, k, 2))
    for r in range(4, n, 5):
        rows[r] = np.arange(k) == rng.integers(0, k)
    return rows


def assert_same(one: FrechetResult, other: FrechetResult) -> None:
    assert one.index.tolist() == other.index.tolist()
    assert one.value.tobytes() == other.value.tobytes()
    assert one.n_tied.tolist() == other.n_tied.tolist()


def pair_of(space: TreeSpace, observed: Any) -> tuple[TreeScorer, TreeScorer]:
    return TreeScorer(space, observed, compiled=True), TreeScorer(space, observed, compiled=False)


SHAPES = [
    pytest.param({}, id="bushy"),
    pytest.param({"weighted": True}, id="weighted"),
    pytest.param({"deep": True}, id="deep"),
    pytest.param({"deep": True, "weighted": True}, id="deep, weighted"),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2, 7, 16, 31, 33, 255, 256, 257, 700])
def test_index_value_bits_and_ties_are_those_of_numpy(k: int, shape: dict[str, bool]) -> None:
    space = grown(1500, k, **shape)
    observed = np.random.default_rng(k).permutation(1500)[:k]
    rows = drawn_rows(k, k)
    for at in (observed, np.sort(observed)):
        compiled, plain = pair_of(space, at)
        decide = answers_of(compiled)
        for some in (rows, rows.astype(np.float32), (100 * rows).astype(np.float16) + np.float16(0.5)):
            expected = plain.score(some)
            assert_same(compiled.score(some), expected)
            if some.dtype != np.float16:
                found = decide(some)
                assert found is not None
                assert found.tolist() == expected.index.tolist()


@pytest.mark.parametrize("length", [None, 0.1])
def test_votes_of_neighbors_tie_often(length: float | None) -> None:
    """Votes of four: where edges are of one length, an odd number of votes cannot tie."""
    rng = np.random.default_rng(17)
    parent = np.concatenate([[-1], np.maximum(np.arange(1, 500) - rng.integers(1, 6, 499), 0)])
    space = space_of(parent, None if length is None else np.full(500, length))
    compiled, plain = pair_of(space, rng.permutation(500)[:40])
    rows = np.zeros((1000, 40), dtype=np.float32)
    np.add.at(rows, (np.repeat(np.arange(1000), 4), rng.integers(0, 40, 4000)), 1)
    expected = plain.score(rows)
    assert (expected.n_tied == 2).sum() > 50
    assert_same(compiled.score(rows), expected)
    decide = answers_of(compiled)
    assert np.asarray(decide(rows)).tolist() == expected.index.tolist()
    for r in np.flatnonzero(expected.n_tied == 2)[:20]:
        assert compiled.tied(rows[r]).tolist() == plain.tied(rows[r]).tolist()


def test_labels_that_stand_twice_count_twice() -> None:
    space = grown(400, 1)
    observed = np.random.default_rng(1).integers(0, 400, 300)
    compiled, plain = pair_of(space, observed)
    assert_same(compiled.score(drawn_rows(300, 2)), plain.score(drawn_rows(300, 2)))


def test_decisions_do_not_depend_on_the_order_of_columns() -> None:
    """Nor do bits: moments are added up in preorder, and plain sums in the order of the observed labels."""
    space = grown(2000, 3, weighted=True)
    observed = np.random.default_rng(3).permutation(2000)[:600]
    scorer, plain = pair_of(space, observed)
    rows = drawn_rows(600, 3)
    expected = plain.score(rows).index.tolist()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(600)  # column of each observed label
        moved = np.empty_like(rows)
        moved[:, order] = rows
        decide = answers_of(scorer, order)
        assert np.asarray(decide(moved)).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_answers_do_not_depend_on_batches_and_threads(dtype: Any) -> None:
    space = grown(3000, 5)
    scorer = TreeScorer(space, np.random.default_rng(5).permutation(3000)[:500], compiled=True)
    decide = answers_of(scorer)
    rows = drawn_rows(500, 5, 203).astype(dtype)
    whole, decided = scorer.score(rows), np.asarray(decide(rows))
    assert decided.tolist() == whole.index.tolist()
    for step in (1, 3, 8, 9, 64):
        parts = [rows[i : i + step] for i in range(0, len(rows), step)]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda part: (scorer.score(part), decide(part)), parts))
        scored = [result for result, _ in found]
        together = FrechetResult(
            *(np.concatenate([getattr(r, name) for r in scored]) for name in ("index", "value", "n_tied"))
        )
        assert_same(together, whole)
        assert np.concatenate([index for _, index in found]).tolist() == decided.tolist()


def test_a_chain_of_a_hundred_thousand_labels() -> None:
    n = 100_000
    space = space_of(np.arange(-1, n - 1))
    compiled, plain = pair_of(space, np.random.default_rng(7).permutation(n)[:40])
    rows = drawn_rows(40, 7)
    assert_same(compiled.score(rows), plain.score(rows))
    ends, _ = pair_of(space, [0, n - 1])
    result = ends.score([[1, 1], [3, 1], [1, 0]])
    assert result.index.tolist() == [(n - 1) // 2, n // 4, 0]
    assert result.n_tied.tolist() == [2, 1, 1]


def test_a_star_and_a_single_label() -> None:
    star = space_of(np.concatenate([[-1], np.zeros(999, dtype=np.int64)]))
    compiled, plain = pair_of(star, np.random.default_rng(8).permutation(np.arange(1, 1000)))
    rows = drawn_rows(999, 8)
    assert_same(compiled.score(rows), plain.score(rows))
    lone = TreeScorer(space_of(np.array([-1])), [0], compiled=True)
    result = lone.score([[2.0], [0.5]])
    assert result.index.tolist() == [0, 0]
    assert result.value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", [1e-147, 1e-30, 1e30, 1e146])
def test_tiny_and_huge_weights(scale: float) -> None:
    space = grown(900, 9, weighted=True)
    compiled, plain = pair_of(space, np.random.default_rng(9).permutation(900)[:300])
    rows = drawn_rows(300, 9) * scale
    rows[:, ::7] = np.where(rows[:, ::7] > 0, 5e-324, 0)  # the smallest number there is
    assert (rows.sum(axis=1) > 0).all()
    rows[rows.sum(axis=1) < scale / 1e3] = scale
    assert_same(compiled.score(rows), plain.score(rows))


@pytest.mark.parametrize("short", [1e-9, 1e-6, 1e-4])
def test_vertices_too_near_for_running_sums_to_tell_apart(short: float) -> None:
    rng = np.random.default_rng(10)
    parent = np.concatenate([[-1], np.maximum(np.arange(1, 300) - rng.integers(1, 4, 299), 0)])
    space = space_of(parent, np.where(rng.random(300) < 0.7, short, 1.0))
    compiled, plain = pair_of(space, rng.permutation(300)[:50])
    rows = drawn_rows(50, 10)
    expected = plain.score(rows)
    assert_same(compiled.score(rows), expected)
    decide = answers_of(compiled)
    assert np.asarray(decide(rows)).tolist() == expected.index.tolist()
    for row in rows[:12]:
        assert compiled.tied(row).tolist() == plain.tied(row).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-6])
@pytest.mark.parametrize("column", [0, 254, 255, 256, 300, 301, 319])
def test_a_bad_number_anywhere_is_refused_as_numpy_refuses_it(column: int, bad: float, dtype: Any) -> None:
    space = grown(800, 11)
    for observed in (np.arange(320), np.random.default_rng(11).permutation(800)[:320]):
        compiled, plain = pair_of(space, observed)
        rows = drawn_rows(320, 11).astype(dtype)
        rows[[9, 20], column] = bad
        decide = answers_of(compiled)
        assert decide(rows) is None
        with pytest.raises(WeightError) as expected:
            plain.score(rows)
        with pytest.raises(WeightError) as found:
            compiled.score(rows)
        assert str(found.value) == str(expected.value)
        assert f"row 9, column {column} holds {rows[9, column]} (and 1 more of rows 0 to " in str(found.value)


def test_rows_of_zeros_and_sums_near_the_limits() -> None:
    compiled, plain = pair_of(grown(800, 12), np.arange(0, 800, 3))
    decide = answers_of(compiled)
    rows = drawn_rows(267, 12)
    rows[5] = 0
    assert decide(rows) is None
    with pytest.raises(WeightError, match=r"row 5 sums to 0.0; each row must give"):
        compiled.score(rows)
    for total in (1.5e-150, 9e149):  # within the limits, though too near them for the compiled search
        rows = drawn_rows(267, 13)
        rows *= total / rows.sum(axis=1, keepdims=True)
        assert decide(rows) is None
        assert_same(compiled.score(rows), plain.score(rows))


def test_negative_zeros_are_zeros() -> None:
    compiled, plain = pair_of(grown(800, 14), np.arange(0, 800, 3))
    rows = drawn_rows(267, 14)
    rows[rows == 0] = -0.0
    assert_same(compiled.score(rows), plain.score(rows))
    assert_same(compiled.score(rows), plain.score(np.abs(rows)))


def test_rows_of_any_layout() -> None:
    compiled, plain = pair_of(grown(800, 15), np.arange(799, 0, -2))
    rows = drawn_rows(400, 15).astype(np.float32)
    expected = plain.score(rows)
    still = rows.copy()
    still.flags.writeable = False
    wide = np.zeros((len(rows), 801), dtype=np.float32)
    wide[:, ::2][:, :400] = rows
    unaligned = np.frombuffer(b"\0" + rows.tobytes(), np.uint8)[1:].view(np.float32).reshape(rows.shape)
    for some in (still, np.asfortranarray(rows), wide[:, ::2][:, :400], rows.astype(">f4"), unaligned):
        assert_same(compiled.score(some), expected)
    assert_same(compiled.score(rows[:0]), plain.score(rows[:0]))
    votes = (rows * 1000).astype(np.int32) + 1
    assert_same(compiled.score(votes), plain.score(votes))


def test_without_numba_the_same_scorer_answers() -> None:
    program = """
import sys
sys.modules["numba"] = None
import numpy as np
from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry import TreeSpace
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.keys import Keys
space = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0])
scorer = TreeScorer(space, [1, 2])
print(scorer.score(np.ones((20_000, 2))).n_tied.sum(), scorer.decision())
try:
    TreeScorer(space, [1, 2], compiled=True).score([1, 1])
except MissingExtraError as error:
    print("[science]" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["20000", "None", "True"]
    assert issubclass(MissingExtraError, Exception)


def test_a_cache_folder_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    program = """
import numpy as np
from labelgrove.ontology.geometry import TreeSpace
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.keys import Keys
scorer = TreeScorer(TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0]), [1, 2], compiled=True)
print(*scorer.decision().find(np.array([[3.0, 1.0], [1.0, 0.0]]), 0.0)[0])
"""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(blocked / "below")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.split() == ["0", "1"], done.stderr
