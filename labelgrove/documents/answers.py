"""Answer outputs of a model, one row of a table for each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.adapter import Adapter
    from labelgrove.adapter.outputs.outputkinds import KindSeen

__all__ = ["CANDIDATES", "answers", "candidates_of", "header"]

_RULES = ("leaves", "locus", "observed")
_BELOW = "subtree:"

CANDIDATES = (*_RULES, f"{_BELOW}KEY")
"""What names candidates, besides a list of keys."""


def header(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of `answers`."""
    ids = ("id",) if getattr(values, "id_column", None) is not None else ()
    return ("row", *ids, "rank", "key", "name", "variance", "n_tied")


def answers(
    adapter: Adapter,
    values: Any,
    top: int,
    among: Any,
    *,
    seen: KindSeen | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[tuple[int | float | str | None, ...]]:
    """Yield a row for each answer; a file is read a few rows at a time, so it may be larger than memory.

    Parameters
    ----------
    adapter : Adapter
    values : array_like, OutputFile or SparseOutputs
        Outputs of the model.
    top : int
        Number of answers for each row of outputs.
    among : optional
        Candidates, as for `Adapter.predict`.
    seen : KindSeen, optional
        Gets the rows of a file, to judge later whether they are of the kind that was stated.
    progress : callable, optional
        Called with the number of rows that were answered.
    """
    from labelgrove.adapter.outputs.outputfiles import OutputFile

    names = adapter.names
    file = values if isinstance(values, OutputFile) else None
    ids = None if file is None else file.ids()
    for rows in adapter.blocks(values):
        ranking = adapter.top_k(rows, top, candidates=among)
        if file is not None and seen is not None:  # sparse rows need not sum to 1
            seen.add(rows.values)
        found = zip(ranking.keys, ranking.indices, ranking.values, ranking.n_tied, strict=True)
        for row, (keys, indices, variances, tied) in enumerate(found, rows.first):
            where = (row,) if ids is None else (row, next(ids))
            for k, (key, index, value) in enumerate(zip(keys, indices, variances, strict=True)):
                yield *where, k + 1, key, names[int(index)], float(value), int(tied) if k == 0 else None
        progress(rows.first + len(rows))


def candidates_of(given: str | None, keys: Callable[[str], list[str]]) -> Any:
    """Return the candidates that a text names, in the form that the adapter accepts.

    `keys` makes a list of keys of a text that is neither a rule nor a branch.
    """
    from labelgrove.adapter import Subtree

    if given is None or given in _RULES:
        return given
    return Subtree(given.removeprefix(_BELOW)) if given.startswith(_BELOW) else keys(given)
