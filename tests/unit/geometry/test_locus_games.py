"""Matrix games that floating point helps to settle: the same answers as whole numbers alone."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci import general
from labelgrove.ontology.geometry.loci.general import general_locus
from labelgrove.ontology.geometry.loci.proofs import exactgame, gameproposal
from labelgrove.ontology.geometry.loci.proofs.exactgame import (
    Settled,
    decide,
    exact_product,
    settle,
    solve_corner,
    solve_game,
)
from labelgrove.ontology.geometry.loci.proofs.gameproposal import balanced, propose
from labelgrove.ontology.geometry.loci.proofs.linearsystem import LinearSystem
from labelgrove.ontology.geometry.loci.proofs.longfloats import corner_of_game
from tests.hard_games import DISTANCES, GAMES, tied, whole
from tests.oracles_locus import game, locus_by_tie_rule, locus_of_rows, squared

Generator = np.random.Generator


def proved(payoff: NDArray[Any], found: Settled) -> int:
    """Return the sign, which the mixtures prove."""
    if found.sign >= 0:
        assert min(found.weights) >= 0 < max(found.weights)
        assert (exact_product(payoff, found.weights) >= found.sign).all()
    if found.sign <= 0:
        assert min(found.multipliers) >= 0 < max(found.multipliers)
        assert (exact_product(payoff.T, found.multipliers) <= found.sign).all()
    return found.sign


@pytest.fixture
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask floating point first, also for games that whole numbers settle at once."""
    monkeypatch.setattr(exactgame, "_FEW", 0)


@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.usefixtures("nothing_is_small")
def test_hard_games_are_decided_as_in_whole_numbers_alone(kind: str) -> None:
    draw = np.random.default_rng(11)
    signs = set()
    for _ in range(40):
        n_columns = int(draw.integers(1, 6))
        n_rows = n_columns + int(draw.integers(1, 9))
        payoff = GAMES[kind](draw, n_rows, n_columns, int(draw.choice([4, 20, 60, 150])))
        start = np.arange(1), np.arange(1)
        sign = proved(payoff, decide(payoff, *start))
        assert sign == proved(payoff, settle(payoff, *start))
        value, _, _ = game(payoff.T.tolist())
        assert sign == (value > 0) - (value < 0)
        signs.add(sign)
    assert len(signs) > (kind in {"stretched", "random"})


@pytest.mark.parametrize("kind", GAMES)
def test_large_games_have_proofs(kind: str) -> None:
    payoff = GAMES[kind](np.random.default_rng(12), 60, 15, 150)
    sign = proved(payoff, decide(payoff, np.arange(1), np.arange(15)))
    assert kind not in {"tied", "one above", "one below"} or sign == {"tied": 0, "one above": 1}.get(kind, -1)


def test_games_are_decided_without_a_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactgame, "_FEW", 0)
    monkeypatch.setattr(gameproposal._Program, "solve", lambda *_, **__: None)
    payoff = np.array([[3, -1], [-1, 1], [5, 5]])
    assert not list(propose(payoff))
    assert proved(payoff, decide(payoff, np.array([2]), np.array([0]))) == 1


def test_a_wrong_proposal_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactgame, "_FEW", 0)
    draw = np.random.default_rng(13)
    wrong = gameproposal.Proposal(
        np.array([1, 0]),
        np.array([1, 0, 0]),
        np.array([0]),
        np.array([0]),
        balanced(np.eye(3, 2, dtype=np.int64)),
    )
    monkeypatch.setattr(exactgame, "propose", lambda _: iter([wrong, wrong]))
    for _ in range(200):
        payoff = draw.integers(-3, 4, (3, 2))
        sign = solve_game(payoff)[0]
        assert proved(payoff, decide(payoff, np.array([1]), np.array([1]))) == sign


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize("kind", DISTANCES)
@pytest.mark.usefixtures("nothing_is_small")
def test_loci_are_those_of_whole_numbers_alone(
    kind: str, tolerant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(14)
    n_games = 0
    for _ in range(12):
        distances = DISTANCES[kind](draw, 10, int(draw.integers(2, 5)))
        decided: list[int] = []

        def counted(*given: Any, decided: list[int] = decided) -> Settled:
            decided.append(1)
            return decide(*given)

        with monkeypatch.context() as patch:
            patch.setattr(general, "decide", counted)
            warm = general_locus(distances, tolerant=tolerant)
        with monkeypatch.context() as patch:
            patch.setattr(general, "decide", settle)
            cold = general_locus(distances, tolerant=tolerant)
        assert warm.index.tolist() == cold.index.tolist()
        assert warm.unique_index.tolist() == cold.unique_index.tolist()
        rows = squared([[Fraction(d) for d in row] for row in distances.tolist()])
        exact = locus_by_tie_rule(rows) if tolerant else locus_of_rows(rows)
        members, unique = exact if isinstance(exact, tuple) else (exact.members, exact.unique)
        assert tuple(warm.index.tolist()) == members
        assert tuple(warm.unique_index.tolist()) == unique
        n_games += len(decided)
    assert n_games or kind != "next to each other"


def test_longer_fractions_name_the_corner_of_hard_games() -> None:
    draw = np.random.default_rng(19)
    for above, sign in ((0, 0), (1, 1), (-1, -1)):
        payoff = tied(draw, 20, 6, 90, above)
        game = balanced(payoff)
        whole_game = game.exactly(payoff, np.arange(20), np.arange(6))
        rows, columns = corner_of_game(whole_game, game.unit, 1024) or (np.zeros(0), np.zeros(0))
        assert len(rows) == len(columns) > 0
        answer = solve_corner(game.exactly(payoff, rows, columns))
        assert answer is not None
        assert answer[0] == sign
    # too short for anything: told, or a wrong corner, never an endless run
    found = corner_of_game(whole_game, game.unit, 8)
    assert found is None or len(found[0]) == len(found[1])


def test_balancing_keeps_payoffs_up_to_powers_of_two() -> None:
    draw = np.random.default_rng(15)
    for n_bits in (5, 60, 150, 3000):
        payoff = whole(draw, (4, 3), n_bits) << draw.integers(0, 2000, (4, 1)).astype(object)
        payoff[0, 0] = 0
        found = balanced(payoff)
        assert (np.abs(found.matrix).max(axis=1) >= 0.5).all()
        assert (np.abs(found.matrix) < 1).all()
        for r in range(4):
            for c in range(3):
                exact = Fraction(int(payoff[r, c])) * 2 ** int(found.row_shift[r] + found.column_shift[c])
                assert abs(Fraction(float(found.matrix[r, c])) - exact / 2**found.unit) < Fraction(2) ** -50


def test_proposals_come_closer_to_the_value() -> None:
    payoff = GAMES["random"](np.random.default_rng(16), 30, 10, 100)
    gaps = []
    for proposal in propose(payoff):
        weights, multipliers = sum(proposal.weights), sum(proposal.multipliers)
        low = Fraction(min(exact_product(payoff, proposal.weights)), weights)
        high = Fraction(max(exact_product(payoff.T, proposal.multipliers)), multipliers)
        gaps.append((high - low) / 2**100)
    assert all(gap >= 0 for gap in gaps)
    assert gaps[0] < 1e-6
    assert all(after < before / 2**20 for before, after in itertools.pairwise(gaps) if before)
    assert gaps[-1] < Fraction(2) ** -200


def test_corners_are_those_of_the_whole_game() -> None:
    draw = np.random.default_rng(17)
    n_corners = 0
    for _ in range(300):
        n = int(draw.integers(1, 5))
        payoff = draw.integers(-3, 4, (n, n))
        found = solve_corner(payoff)
        if found is not None:
            n_corners += 1
            value, _, _ = game(payoff.T.tolist())
            sign, weights, multipliers = found
            assert sign == (value > 0) - (value < 0)
            assert (exact_product(payoff, weights) == value * sum(weights)).all()
            assert (exact_product(payoff.T, multipliers) == value * sum(multipliers)).all()
    assert 100 < n_corners < 300
    assert solve_corner(np.array([[1, 2]])) is None


@pytest.mark.parametrize("n_bits", [1, 8, 64, 500])
@pytest.mark.parametrize("transposed", [False, True])
def test_systems_of_equations_are_solved_exactly(n_bits: int, transposed: bool) -> None:
    draw = np.random.default_rng(18)
    n_solved = 0
    for n in (1, 2, 5, 16):
        for _ in range(5):
            matrix, right = whole(draw, (n, n), n_bits), whole(draw, (n,), n_bits)
            found = LinearSystem(matrix).solve(right, transposed=transposed)
            if found is not None:
                n_solved += 1
                x, d = found
                assert d > 0
                assert np.gcd.reduce(np.append(x, d)) == 1
                assert ((matrix.T if transposed else matrix) @ x == right * d).all()
    assert n_solved > (5 if n_bits == 1 else 15)


def test_singular_systems_are_told() -> None:
    right = np.ones(2, dtype=object)
    assert LinearSystem(np.array([[1, 2], [2, 4]], dtype=object)).solve(right) is None
    # regular, but singular modulo the first of the primes
    matrix = np.array([[33_554_393, 0], [0, 1]], dtype=object)
    x, d = LinearSystem(matrix).solve(right) or (None, 0)
    assert x is not None
    assert (x.tolist(), d) == ([1, 33_554_393], 33_554_393)


def test_the_solver_prints_nothing() -> None:
    """A new process shows it, because HiGHS prints its banner once, past the streams of Python."""
    program = """
from labelgrove.ontology.geometry.loci.proofs.linearsolver import new_solver
for _ in range(2):
    highspy, solver = new_solver()
    solver.addVar(0.0, 1.0)
    solver.changeColCost(0, 1.0)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
