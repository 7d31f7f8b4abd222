"""Write an adapter as a model into the model repository of a Triton Inference Server.

A model is a folder: ``config.pbtxt``, and a folder for each version. A version contains ``model.py``, which
Triton's Python backend runs, and the adapter as `Adapter.save_pretrained` writes it. The server therefore
needs labelgrove, and nothing else: no store, no network.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labelgrove.adapter.answers.batches import check_k
from labelgrove.adapter.bundles.pretrained import read_folder
from labelgrove.adapter.scorer import Adapter
from labelgrove.adapter.triton.config import (
    DATATYPES,
    After,
    TensorSpec,
    chain_config,
    check_name,
    model_config,
)
from labelgrove.ontology.errors import ConflictError, GroveError, InputError, ServiceError
from labelgrove.ontology.store.wholefile import TEMPORARY, beside, sync_folder, write_whole

__all__ = ["ADAPTER_FOLDER", "Exported", "export_triton"]

ADAPTER_FOLDER = "adapter"
"""Name of the folder with the adapter, in the folder of a version."""

_CONFIG = "config.pbtxt"
_MODEL = "model.py"
_MODEL_TEXT = '''"""Answer the outputs of a model with labels; the server needs the package labelgrove."""

from labelgrove.adapter.triton.model import TritonPythonModel

__all__ = ["TritonPythonModel"]
'''


@dataclass(frozen=True)
class Exported:
    """What `export_triton` wrote.

    Attributes
    ----------
    folder : Path
        The folder of the version.
    model : str
        Name of the model.
    version : int
        Its version.
    chain : str or None
        Name of the ensemble that runs the user's model first.
    new : bool
        False if the repository had all of it already.
    """

    folder: Path
    model: str
    version: int
    chain: str | None
    new: bool


def export_triton(
    adapter: Adapter,
    repository: str | os.PathLike[str],
    name: str,
    *,
    version: int = 1,
    k: int = 1,
    datatype: str = "FP32",
    max_batch_size: int = 256,
    after: After | None = None,
) -> Exported:
    """Write `adapter` as a model of Triton's Python backend into a model repository.

    The input has the name of the kind of outputs that the adapter reads (``probabilities``, for example) and
    a row of `adapter.n_observed` numbers for each sample. The outputs are ``label``, ``name``, ``index`` and
    ``variance``, with `k` answers a row, and ``n_tied``.

    A version appears whole or not at all. Nothing is replaced: an export that is already there counts as
    done, and anything else of that name is refused.

    Parameters
    ----------
    adapter : Adapter
        Its current bundle, columns, kind of outputs and temperature are written.
    repository : str or path
        Folder of the repository; created if it does not exist.
    name : str
        Name of the model.
    version : int, default=1
        Version of the model. By the configuration that is written, Triton serves the highest one.
    k : int, default=1
        Number of answers for each row.
    datatype : {"FP16", "FP32", "FP64"}, default="FP32"
        Datatype of the input.
    max_batch_size : int, default=256
        Most rows that Triton puts together.
    after : After, optional
        A model of the repository whose output is our input. An ensemble ``<after.model>~<name>`` that runs
        both is written as well.

    Raises
    ------
    InputError
        For an argument that breaks a rule.
    ConflictError
        If the repository has something else where a file has to be written.
    ServiceError
        If the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from labelgrove import Adapter, LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> adapter = Adapter.from_graph(graph, ["oak", "elm"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = export_triton(adapter, folder, "trees")
    ...     print((found.folder.parent / "config.pbtxt").read_text().splitlines()[4])
    input { name: "probabilities" data_type: TYPE_FP32 dims: [ 2 ] }
    """
    check_name("name", name)
    check_k(k, adapter.n_labels, "labels")
    _check_number("version", version, 2**31 - 1)
    _check_number("max_batch_size", max_batch_size, 2**31 - 1)
    if datatype not in DATATYPES:
        raise InputError(f"datatype: {datatype!r} given; give one of {', '.join(DATATYPES)}")
    given = TensorSpec(adapter.outputs, datatype, (adapter.n_observed,))
    root = Path(repository)
    configs = {root / name: model_config(name, given, k, max_batch_size)}
    chain = None
    if after is not None:
        chain = f"{after.model}~{name}"
        check_name("name", chain)
        if after.model == name:
            raise InputError(f"name: {name!r} given, which is the model before it; give another name")
        configs[root / chain] = chain_config(chain, after, name, adapter.outputs, k, max_batch_size)
    with _writable(root):
        for folder, text in configs.items():
            _check_config(folder, text)
        new = _write_version(root / name / str(version), adapter, configs)
        if chain is not None:
            (root / chain / "1").mkdir(exist_ok=True)  # Triton asks for a version, which has no files
    return Exported(root / name / str(version), name, version, chain, new)


def _write_version(folder: Path, adapter: Adapter, configs: dict[Path, str]) -> bool:
    """Write what is missing; return False if nothing is."""
    there = folder.exists()
    if there and not _same(folder, adapter):
        raise ConflictError(
            f"{folder}: exists and is not this export; give another version or name, or remove the folder"
        )
    missing = {path: text for path, text in configs.items() if not (path / _CONFIG).exists()}
    for path, text in missing.items():  # first: a server that sees a version asks for them
        path.mkdir(parents=True, exist_ok=True)
        write_whole(path / _CONFIG, [text.encode()])
        sync_folder(path)
    if not there:
        partial = beside(folder)  # not a number: the server looks past it
        try:
            partial.mkdir()
            adapter.save_pretrained(partial / ADAPTER_FOLDER)
            write_whole(partial / _MODEL, [_MODEL_TEXT.encode()])
            sync_folder(partial)
            partial.rename(folder)
            sync_folder(folder.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return bool(missing) or not there


def _check_config(folder: Path, text: str) -> None:
    """Refuse a folder of that name that is not an export with this configuration."""
    config = folder / _CONFIG
    if config.is_file():
        if config.read_bytes() != text.encode():
            raise ConflictError(
                f"{config}: exists and says something other than this export; give another name, or the "
                "options that it was written with, or remove the folder"
            )
        return
    if folder.exists() and any(not one.name.startswith(TEMPORARY) for one in folder.iterdir()):
        raise ConflictError(f"{folder}: exists and was not exported here; give another name")


def _same(folder: Path, adapter: Adapter) -> bool:
    """Return whether a folder has this adapter and our ``model.py``."""
    try:
        if (folder / _MODEL).read_bytes() != _MODEL_TEXT.encode():
            return False
        bundle, config = read_folder(folder / ADAPTER_FOLDER)
    except (OSError, GroveError):  # not an export, or a damaged one
        return False
    found = (bundle.digest, tuple(config.columns), config.outputs, config.temperature, config.beta)
    return found == (adapter.digest, adapter.observed, adapter.outputs, adapter.temperature, adapter.beta)


def _check_number(argument: str, given: int, most: int) -> None:
    if type(given) is not int or not 1 <= given <= most:
        raise InputError(f"{argument}: {given!r:.40} given; give a whole number between 1 and {most:,}")


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except ServiceError:  # is an OSError, and says all of it
        raise
    except OSError as error:
        raise ServiceError(
            f"{folder}: cannot be written ({error.strerror or error}); give a folder that this user may write"
        ) from error
