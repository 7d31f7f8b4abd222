"""Replace the annotations that a version shows on a Neo4j server, in batches, without touching what stays."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import ConflictError
from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.engine import Progress, Run
from labelgrove.ontology.graph.labeltables import ROWS_TOGETHER, rows_of_columns
from labelgrove.ontology.keys import Texts

__all__ = ["replace_annotations"]

_ROWS_PER_BATCH = 5_000
_BYTES_PER_BATCH = 8 << 20

_PLAIN = None, False
"""Definition and deprecated flag of most labels: none, and not deprecated."""

_Rows = Callable[[NDArray[np.int64]], list[dict[str, Any]]]
"""Returns the rows of a query's batch, given their numbers."""


@dataclass(frozen=True)
class _Batch:
    """A batch of rows to write: the query, the numbers of the rows, and how the rows are made."""

    query: str
    numbers: NDArray[np.int64]
    made: _Rows


def replace_annotations(
    transact: Callable[[Callable[[Run], Rows]], Rows],
    table: Callable[[str, str], Any],
    shown: ShownAnnotations,
    progress: Progress,
    *,
    ready: bool = False,
) -> None:
    """Replace the annotations that a version shows; see `GraphStore.annotate`.

    Parameters
    ----------
    transact : callable
        Runs work in one transaction, as `Engine.transact`.
    table : callable
        Returns the answer of a named query about a version as an Arrow table: ``table(name, digest)``.
    shown : ShownAnnotations
    progress : callable
        Called with (done, total) before each batch.
    ready : bool
        Whether the last transaction also declares the version complete.

    Notes
    -----
    Each replacement has a mark of its own, which it writes to the version first. Every batch looks for this
    mark, so of two replacements at the same time the one that began earlier stops with a `ConflictError`.
    """
    digest, mark = shown.graph.digest, f"replacing {secrets.token_hex(8)}"

    def run_once(query: str, **params: Any) -> int:
        found = transact(lambda run: run(query, version=digest, **params))
        return int(found.rows[0][0])

    if not run_once("set_annotations", annotations=mark):
        raise _interrupted(digest)
    batches = _batches(shown, table)
    for done, batch in enumerate(batches):
        progress(done, len(batches))
        if run_once(batch.query, mark=mark, rows=batch.made(batch.numbers)) != len(batch.numbers):
            raise _interrupted(digest)

    def finish(run: Run) -> Rows:
        recorded = run("load_annotations", version=digest, mark=mark, annotations=shown.sha256)
        if ready and recorded.rows[0][0]:
            run("mark_ready", version=digest)
        return recorded

    if not transact(finish).rows[0][0]:
        raise _interrupted(digest)


def _batches(shown: ShownAnnotations, table: Callable[[str, str], Any]) -> list[_Batch]:
    """Return what must be written: first names to add, then descriptions, and last names to remove."""
    missing, gone = _names_to_write(shown, table("all_name_uids", shown.graph.digest))
    changed = _labels_to_write(shown, table("all_descriptions", shown.graph.digest))
    texts, definitions = None, None
    if shown.annotations is not None:
        texts, definitions = shown.annotations.name_texts, shown.annotations.definitions

    def names(numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
        return rows_of_columns(shown.name_columns(numbers))

    def descriptions(numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
        return rows_of_columns(shown.description_columns(numbers))

    def uids(numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
        return [{"uid": uid} for uid in gone.take(numbers).to_pylist()]

    return [
        *(_Batch("load_names", part, names) for part in _parts(missing, texts)),
        *(_Batch("load_descriptions", part, descriptions) for part in _parts(changed, definitions)),
        *(_Batch("unload_names", part, uids) for part in _parts(np.arange(len(gone)), None)),
    ]


def _names_to_write(shown: ShownAnnotations, stored: Any) -> tuple[NDArray[np.int64], Any]:
    """Return the rows of the names that the graph lacks, and the uids of the names that it has to lose."""
    import pyarrow
    import pyarrow.compute as pc

    wanted = pyarrow.chunked_array(
        [
            shown.name_columns(np.arange(start, min(start + ROWS_TOGETHER, shown.n_names)))["uid"]
            for start in range(0, shown.n_names, ROWS_TOGETHER)
        ],
        pyarrow.string(),
    )
    whole = stored["uid"].filter(stored["belongs"]).combine_chunks()
    missing = pc.invert(pc.is_in(wanted, value_set=whole))
    gone = stored["uid"].filter(pc.invert(pc.is_in(stored["uid"], value_set=wanted.combine_chunks())))
    return np.flatnonzero(missing.to_numpy()), gone.drop_null()


def _labels_to_write(shown: ShownAnnotations, stored: Any) -> NDArray[np.int64]:
    """Return the indices of the labels whose definition or deprecated flag differs in the graph."""
    columns = zip(*(stored[name].to_pylist() for name in ("uid", "definition", "deprecated")), strict=True)
    held = {uid: tuple(found) for uid, *found in columns if tuple(found) != _PLAIN}
    changed = [np.zeros(0, dtype=np.int64)]
    for start in range(0, shown.graph.n_labels, ROWS_TOGETHER):
        labels = np.arange(start, min(start + ROWS_TOGETHER, shown.graph.n_labels))
        wanted = shown.description_columns(labels)
        rows = zip(wanted["uid"], wanted["definition"], wanted["deprecated"], strict=True)
        differs = [held.get(uid, _PLAIN) != (definition, deprecated) for uid, definition, deprecated in rows]
        changed.append(labels[np.array(differs, dtype=bool)])
    return np.concatenate(changed)


def _parts(numbers: NDArray[np.int64], texts: Texts | None) -> list[NDArray[np.int64]]:
    """Divide numbers of rows into batches, which are limited in rows and in the bytes of their texts."""
    part = np.arange(len(numbers)) // _ROWS_PER_BATCH
    if texts is not None:
        part += np.cumsum(np.diff(texts.offsets)[numbers]) // _BYTES_PER_BATCH
    return [rows for rows in np.split(numbers, np.flatnonzero(np.diff(part)) + 1) if len(rows)]


def _interrupted(digest: str) -> ConflictError:
    return ConflictError(
        f"version {digest[:12]}: another process replaces its names and definitions, or drops it or some of "
        "its labels; wait until it has finished, then run this again"
    )
