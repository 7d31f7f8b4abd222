"""Weights that are learned by multiplication: what is proposed holds, and is found where it is easy."""

from __future__ import annotations

import numpy as np
import pytest

from labelgrove.ontology.geometry.loci.general import general_locus
from labelgrove.ontology.geometry.loci.proofs.learnedweights import learned_weights
from labelgrove.ontology.geometry.loci.proofs.marginprogram import MarginProgram


@pytest.mark.parametrize("seed", range(20))
def test_proposed_weights_make_the_row_best_within_its_face(seed):
    draw = np.random.default_rng(seed)
    squares = draw.integers(0, 9, (30, 6)) ** 2 / 64
    n_rivals = 20
    asked = np.arange(30)
    faces = draw.random((30, 6)) < 0.7
    faces[:n_rivals] = True
    faces[np.arange(30), draw.integers(0, 6, 30)] = True
    for row, weights in learned_weights(squares, n_rivals, asked, faces):
        assert not weights[~faces[row]].any()
        assert weights.sum() == pytest.approx(1)
        sums = squares @ weights
        others = np.delete(sums[:n_rivals], row) if row < n_rivals else sums[:n_rivals]
        assert others.min() > sums[row] if row < n_rivals else others.min() >= sums[row] - 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_only_rows_that_can_be_best_get_weights_and_most_of_them_do(seed):
    points = np.random.default_rng(seed).random((40, 2))
    distances = np.abs(points[:, None] - points[None, :8]).sum(axis=2)
    squares = np.square(distances / distances.max())
    asked = np.arange(40)
    found = {row for row, _ in learned_weights(squares, 40, asked, np.ones((40, 8), dtype=bool))}
    unique = general_locus(distances, tolerant=True).unique_index.tolist()
    assert found <= set(unique)
    assert len(found) >= 0.8 * len(unique)


def test_blocks_of_rows_change_nothing(monkeypatch):
    squares = np.random.default_rng(0).integers(0, 20, (50, 7)) ** 2 / 400
    asked, faces = np.arange(0, 50, 2), np.ones((25, 7), dtype=bool)
    whole = {row for row, _ in learned_weights(squares, 50, asked, faces)}
    monkeypatch.setattr("labelgrove.ontology.geometry.loci.proofs.learnedweights._BLOCK_ENTRIES", 150)
    assert {row for row, _ in learned_weights(squares, 50, asked, faces)} == whole
    assert whole


def test_a_program_that_drops_its_constraints_finds_the_same_margins(monkeypatch):
    squares = np.random.default_rng(0).random((60, 8))
    open_face = np.ones(8, dtype=bool)

    def signs() -> list[float]:
        program = MarginProgram(squares)
        found = []
        for row in range(60):
            idle = np.arange(60) == row
            weights = program.solve(squares[row], open_face, idle).weights
            found.append(float(np.sign((squares[~idle] @ weights).min() - squares[row] @ weights)))
        return found

    kept = signs()
    monkeypatch.setattr("labelgrove.ontology.geometry.loci.proofs.marginprogram._MOST_CONSTRAINTS", 2)
    assert signs() == kept
