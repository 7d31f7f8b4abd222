"""Read the files that a request names by path or URL, and keep their content as artifacts.

This is done when the request is made. Outputs of models and lists of true labels are each stored in one
format, whatever the format of the file. Thus a ``.npy`` and a ``.parquet`` file with the same numbers in the
same precision give the same artifact, and therefore the same job.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.workers.ledger.specs import canonical_json

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["OUTPUTS_FORMAT", "StoredOutputs", "local_file", "put_outputs", "put_truth", "stored_outputs"]

OUTPUTS_FORMAT = "labelgrove/outputs/1"

_ROWS = 4096  # in a block that is copied


@dataclass(frozen=True)
class StoredOutputs:
    """Outputs of a model in the artifact store.

    Attributes
    ----------
    sha256 : str
    n_samples, n_columns : int
    columns : tuple of str or None
        The names of the columns in the file.
    """

    sha256: str
    n_samples: int
    n_columns: int
    columns: tuple[str, ...] | None = None


@contextmanager
def local_file(location: str) -> Iterator[Path]:
    """Yield the path of a local file: the file itself, or a temporary copy of the file at a URL.

    The copy is deleted when the `with` block ends. Whether a local file exists is not checked. The content of
    a URL is first read into memory, and then written to the folder of temporary files.

    Raises
    ------
    NotFoundError, InputError, ServiceError, MissingExtraError
        As for `adapter.loading.fetching.fetched_file`.
    """
    if "://" not in location:
        yield Path(location).expanduser()
        return
    from labelgrove.adapter.loading.fetching import fetched_file

    with TemporaryDirectory(prefix="labelgrove-") as folder:
        copy = Path(folder, PurePosixPath(urlsplit(location).path).name or "file")
        copy.write_bytes(fetched_file(location))
        yield copy


def put_outputs(
    artifacts: ArtifactStore,
    location: str,
    graph: LabelGraph,
    observed: Sequence[str] | None,
    *,
    emits: str = "probabilities",
    array: str | None = None,
    id_column: str | None = None,
) -> StoredOutputs:
    """Publish the outputs of a model.

    Parameters
    ----------
    artifacts : ArtifactStore
    location : str
        Path or URL of a file that `adapter.outputs.opening.open_outputs` can read; dense outputs are read a
        few rows at a time, and sparse outputs are stored as dense ones. Until this function returns, a copy
        of the outputs is in the folder of temporary files, and takes about as much space there as the
        artifact takes in the store.
    graph : LabelGraph
        The label graph of the version that contains the observed labels.
    observed : sequence of str or None
        Keys of the observed labels; None if the request does not give them, so that only a header of the
        file can name them.
    emits : str
        The kind of the outputs. Sparse outputs list only some numbers of a row; the kind of the outputs
        decides what the other numbers are.
    array : str, optional
        The name of the array to take from a file with several arrays.
    id_column : str, optional
        The column with the names of the rows; it is not part of the outputs. By default `OutputFile` finds
        it.

    Raises
    ------
    NotFoundError, InputError, ServiceError, MissingExtraError
        As for `local_file` and `open_outputs`. `InputError` is also raised for a file without rows, for
        sparse outputs that are damaged, and for sparse outputs if `observed` is None or empty.
    """
    from labelgrove.adapter.outputs.opening import dense_blocks, open_outputs
    from labelgrove.adapter.outputs.outputfiles import OutputFile

    keys = [] if observed is None else list(observed)
    labels: Container[str] = graph.keys  # a header alone names columns by key
    if observed is not None:
        labels = {*keys, *graph.names.take(graph.keys.indices(keys, lambda: graph.names))}
    with local_file(location) as path:
        found = open_outputs(path, array=array, id_column=id_column, labels=labels, keys=keys)
        if isinstance(found, OutputFile):
            blocks, n_columns, columns = found.blocks(_ROWS), found.n_columns, found.columns
        else:
            if not keys:
                raise InputError(
                    f"{path}: sparse outputs do not say how many columns the model has; give the parameter "
                    "observed with the keys of the columns in order, or give a bundle that was built in this "
                    "order"
                )
            blocks, n_columns, columns = dense_blocks(path, found, keys, emits), len(keys), None
        with _in_one_piece(path, blocks, n_columns) as rows:
            digest = artifacts.put_arrays({"outputs": rows}, {"format": OUTPUTS_FORMAT})
        return StoredOutputs(digest, len(rows), n_columns, columns)


def stored_outputs(artifacts: ArtifactStore, digest: str) -> tuple[StoredOutputs, NDArray[Any]]:
    """Return a pair: the description of stored outputs, and the array (n_samples, n_columns) of the outputs.

    Raise `InputError` if `put_outputs` did not write the artifact.
    """
    arrays, metadata = artifacts.open_arrays(digest)
    if (
        metadata.get("format") != OUTPUTS_FORMAT
        or arrays.keys() != {"outputs"}
        or arrays["outputs"].ndim != 2
    ):
        raise InputError(
            f"outputs: artifact {digest} has the format {metadata.get('format', 'unknown')}, not outputs of "
            "a model; name the file with the outputs"
        )
    rows = arrays["outputs"]
    return StoredOutputs(digest, *rows.shape), rows


def put_truth(artifacts: ArtifactStore, location: str, graph: LabelGraph, n_observed: int) -> tuple[str, int]:
    """Publish the label keys of a truth file in row order; return the artifact's digest and the key count.

    Errors are those of `local_file` and `adapter.outputs.truthfile.read_exact_keys`.
    """
    from labelgrove.adapter.outputs.truthfile import read_exact_keys

    with local_file(location) as path:
        keys = read_exact_keys(path, graph.keys, graph.names, n_observed)
    return artifacts.put_bytes(canonical_json(keys).encode()), len(keys)


@contextmanager
def _in_one_piece(path: Path, blocks: Iterable[NDArray[Any]], n_columns: int) -> Iterator[NDArray[Any]]:
    """Copy all rows of a file, and yield them as one array, the memory map of the copy.

    The copy is deleted when the `with` block ends. The caller computes the digest of the rows from the copy,
    because nobody changes the copy meanwhile. The file itself may be replaced at any time.
    """
    with TemporaryFile(prefix="labelgrove-") as copy:
        dtype, n_rows = np.dtype(np.float64), 0
        for block in blocks:
            dtype = block.dtype
            copy.write(np.ascontiguousarray(block).data)
            n_rows += len(block)
        copy.flush()
        if not n_rows:
            raise InputError(f"{path}: contains no rows; give a row of numbers for each sample")
        yield np.memmap(copy, dtype, "r", shape=(n_rows, n_columns))
