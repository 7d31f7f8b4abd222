"""HiGHS, the solver of the linear programs of loci; its results are only proposals, whole numbers decide."""

from __future__ import annotations

from typing import Any, cast

from labelgrove.ontology.errors import MissingExtraError

__all__ = ["TOLERANCE", "new_solver"]

TOLERANCE = 1e-10
"""The amount by which a solution may break a constraint."""


def new_solver(**options: float) -> tuple[Any, Any]:
    """Return the module ``highspy`` and a new solver: the simplex method, silent, on one thread.

    Parameters
    ----------
    **options : float
        Further options of HiGHS, by name.

    Raises
    ------
    MissingExtraError
        If HiGHS is not installed.
    """
    try:
        import highspy
    except ImportError:
        raise MissingExtraError.of("highspy", "science", "the locus of a general space") from None
    solver = cast(Any, highspy).Highs()
    chosen = {
        "output_flag": False,
        "threads": 1,
        "presolve": "off",
        "solver": "simplex",
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
    }
    for option, value in (chosen | options).items():
        solver.setOptionValue(option, value)
    return highspy, solver
