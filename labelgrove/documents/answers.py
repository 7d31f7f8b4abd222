"""Answer outputs of a model, one row of a table for each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from labelgrove.adapter.answers.candidatetexts import CANDIDATES, candidates_of

if TYPE_CHECKING:
    from labelgrove.adapter import Adapter
    from labelgrove.adapter.outputs.outputkinds import KindSeen
    from labelgrove.adapter.outputs.rows import OutputRows

__all__ = ["CANDIDATES", "answers", "candidates_of", "explanation", "header", "one_row"]


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


def explanation(adapter: Adapter, row: OutputRows, among: Any) -> dict[str, Any]:
    """Return why one row has its answer; `among` are the candidates, as for `Adapter.explain`."""
    found = adapter.explain(row, candidates=among)
    contributions = [{**vars(one)} for one in found.contributions]  # `asdict` would copy each number
    return {**vars(found), "contributions": contributions}


def one_row(adapter: Adapter, values: Any, row: int, where: str) -> OutputRows:
    """Return one row of outputs, which may be a file; `where` begins the error if there is no such row.

    Raises
    ------
    InputError
        If there are not so many rows.
    """
    from labelgrove.adapter.outputs.outputfiles import OutputFile
    from labelgrove.ontology.errors import InputError

    rows = adapter.rows(values.read() if isinstance(values, OutputFile) else values)
    if row >= len(rows):
        raise InputError(f"{where} has {len(rows)} rows, counted from 0; give a smaller number")
    return rows.only(slice(row, row + 1))
