"""The file type detector magika, its tree of content types, and files of this machine to test it on.

The package ``magika`` contains the model as an ONNX file, and a list of all content types with the group of
each, such as "archive". The detector knows about 200 of the 350 types. The true type of a file is that of the
ending of its name. Endings that several types share, or that mean something else on this kind of machine, are
not used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.ontology.errors import MissingExtraError, NotFoundError
from labelgrove.ontology.geometry import MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["TypedFiles", "detected", "features", "file_type_space", "find_files", "type_names"]

FOLDERS = ("/etc", "/opt", "/usr", "/var/lib")
"""Where packages of the operating system install files."""

_FILES_PER_TYPE = 9
_FEWEST_TYPES = 10
_SMALLEST = 16  # magika asks its model only about files with content
_MISLEADING = frozenset(
    {"ani", "asc", "au", "brainfuck", "coff", "ese", "exp", "ko", "protobuf", "sys", "txt"},
)
"""Types whose endings mean something else in `FOLDERS`: an object file ``.o`` is an ELF file, for example."""


@dataclass(frozen=True)
class TypedFiles:
    """Files of this machine; each type has the same number of them.

    Attributes
    ----------
    types : tuple of str
        The true type of each file.
    contents : tuple of tuple of bytes
        The first and the last block of each file, which are all that the model reads.
    sha256 : str
        Digest of types and contents.
    """

    types: tuple[str, ...]
    contents: tuple[tuple[bytes, bytes], ...]
    sha256: str


def file_type_space() -> MetricSpace:
    """Return the tree of content types: file, then textual or binary, then the group, then the type."""
    edges = set()
    for key, entry in _known_types().items():
        kind = "[textual]" if entry["is_text"] else "[binary]"
        group = f"{entry['group'] or 'other'} {kind}"
        edges |= {(key, group), (group, kind), (kind, "file")}
    return metric_space(LabelGraph.from_edges(sorted(edges)), "tree")


def type_names() -> Mapping[str, str]:
    """Return a dictionary from each ending that stands for one type alone to this type."""
    types = defaultdict(list)
    for key, entry in _known_types().items():
        for ending in entry["extensions"]:
            types[ending.lower()].append(key)
    return {
        ending: keys[0] for ending, keys in types.items() if len(keys) == 1 and keys[0] not in _MISLEADING
    }


def find_files(folders: Sequence[str] = FOLDERS) -> TypedFiles:
    """Choose nine different files of each type, in an order that depends on their paths alone.

    Types with fewer files are left out.

    Raises
    ------
    NotFoundError
        If there are too few types.
    """
    block = _config()["block_size"]
    paths = _paths(folders)
    types: list[str] = []
    contents: list[tuple[bytes, bytes]] = []
    for name in sorted(paths):
        chosen = _different(sorted(paths[name], key=_mixed), block)
        if len(chosen) == _FILES_PER_TYPE:
            types += [name] * _FILES_PER_TYPE
            contents += chosen
    n_types = len(types) // _FILES_PER_TYPE
    if n_types < _FEWEST_TYPES:
        raise NotFoundError(
            f"{', '.join(folders)}: {n_types} file types have {_FILES_PER_TYPE} files or more, and "
            f"{_FEWEST_TYPES} are needed; run this on a machine with more packages"
        )
    digest = hashlib.sha256()
    for name, parts in zip(types, contents, strict=True):
        digest.update(hashlib.sha256(name.encode()).digest())
        for part in parts:
            digest.update(hashlib.sha256(part).digest())
    return TypedFiles(tuple(types), tuple(contents), digest.hexdigest())


def _paths(folders: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths of the files of each type; links are left out."""
    types = type_names()
    found = defaultdict(list)
    for top in folders:
        for folder, _, names in os.walk(top):
            for name in names:
                kind = types.get(name.rpartition(".")[2].lower()) if "." in name else None
                if kind is not None:
                    found[kind].append(f"{folder}/{name}")
    return found


def _mixed(path: str) -> bytes:
    """Return a key that sorts paths in an order unrelated to their folders."""
    return hashlib.sha256(os.fsencode(path)).digest()


def _different(paths: Sequence[str], block: int) -> list[tuple[bytes, bytes]]:
    """Return the blocks of the first files that can be read and differ from those before them."""
    chosen: list[tuple[bytes, bytes]] = []
    for path in paths:
        if len(chosen) == _FILES_PER_TYPE:
            break
        parts = _blocks(path, block)
        if parts is not None and parts not in chosen:
            chosen.append(parts)
    return chosen


def _blocks(path: str, block: int) -> tuple[bytes, bytes] | None:
    """Return the first and the last block of a file; None if it is a link, too small, or cannot be read."""
    file = Path(path)
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size < _SMALLEST:
            return None
        with file.open("rb") as opened:
            first = opened.read(block)
            opened.seek(max(0, file.stat().st_size - block))
            return first, opened.read(block)
    except OSError:
        return None


def detected(files: TypedFiles, space: MetricSpace) -> PretrainedModel:
    """Return the outputs of magika's model for these files."""
    from onnxruntime import InferenceSession

    config = _config()
    session = InferenceSession(_model_folder() / "model.onnx", providers=["CPUExecutionProvider"])
    outputs = np.concatenate(
        [  # one file at a time: in a batch, the outputs for a file depend a little on the other files
            session.run(["target_label"], {"bytes": features(first, last, config)[None]})[0]
            for first, last in files.contents
        ]
    )
    least = np.finfo(outputs.dtype).tiny  # a probability that was rounded to zero
    logits = np.log(np.maximum(outputs, least), dtype=np.float64)
    return PretrainedModel.of_columns(space, config["target_labels_space"], logits, files.types)


def features(first: bytes, last: bytes, config: Mapping[str, Any]) -> NDArray[np.int32]:
    """Return the bytes that magika's model reads: those at the beginning and at the end of a file.

    White space around the content is not part of them, and missing bytes are replaced by a padding token.

    Parameters
    ----------
    first, last : bytes
        The first and the last block of the file.
    config : mapping
        The configuration of the model.

    Returns
    -------
    tokens : ndarray of shape (beg_size + end_size,), dtype=int32
    """
    begin, end = config["beg_size"], config["end_size"]
    tokens = np.full(begin + end, config["padding_token"], dtype=np.int32)
    head, tail = first.lstrip()[:begin], last.rstrip()[-end:]
    tokens[: len(head)] = list(head)
    tokens[len(tokens) - len(tail) :] = list(tail)
    return tokens


def _known_types() -> dict[str, dict[str, Any]]:
    return _read(_package() / "config" / "content_types_kb.min.json")


def _config() -> dict[str, Any]:
    return _read(_model_folder() / "config.min.json")


def _model_folder() -> Path:
    (folder,) = _models()
    return folder


def _models() -> Iterator[Path]:
    return (_package() / "models").iterdir()


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _package() -> Path:
    """Return the folder of the package ``magika``; it is not imported, only its files are read."""
    from importlib.util import find_spec

    found = find_spec("magika")
    if found is None or found.origin is None:
        raise MissingExtraError.of("magika", "models", "the experiment 'file-types'")
    return Path(found.origin).parent
