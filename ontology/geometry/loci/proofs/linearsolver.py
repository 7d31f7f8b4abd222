"""Create the solver of the linear programs for loci: HiGHS.

The results of HiGHS are only proposals, which are then checked in whole numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from labelgrove.ontology.errors import MissingExtraError

__all__ = ["TOLERANCE", "new_solver"]

TOLERANCE = 1e-10
"""The amount by which a solution may break a constraint."""


def new_solver(**options: float) -> tuple[Any, Any]:
    """Return the module ``highspy`` and a new solver, set to the simplex method, no output and one thread.

    Parameters
    ----------
    **options : float
        Further options of HiGHS, as keyword arguments.

    Raises
    ------
    MissingExtraError
        If HiGHS is not installed.
    """
    try:
        import highspy
    except ImportError:
        raise MissingExtraError.of("highspy", "science", "computing the locus on this space") from None
    solver = _silent_class(highspy)()
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


@cache
def _silent_class(highspy: Any) -> Any:
    """Return a subclass of ``Highs`` that prints nothing, not even while its constructor runs.

    From HiGHS 1.16 on, the constructor prints a banner on stdout when it calls ``enableCallbacks``, before a
    caller can turn the output off.
    """

    class SilentHighs(cast(Any, highspy.Highs)):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs
