"""Read the NCBI taxonomy dump: ``nodes.dmp``, and the files beside it.

Each line is a record; its cells are separated by TAB ``|`` TAB, and it ends with TAB ``|``. In ``nodes.dmp``
the cells are the id of a taxon, the id of its parent, its rank, and others that are not read, such as the
division and the genetic code. The key of a label is the id of its taxon. The root is its own parent, which is
not an edge. Only the rank tells a species from a genus; the option ``levels`` keeps the taxa of some ranks,
and puts each of them below the closest taxon above it that is kept. The root is always kept.

The other files are optional:

* ``names.dmp``: taxon, name, unique name, class of the name. If several taxa have the same scientific name,
  the unique name, such as ``Bacteria <bacteria>``, becomes the name of the label. `NAME_CLASSES` says what
  the others become.
* ``merged.dmp``: a former id and the taxon that it means now.
* ``delnodes.dmp``: an id that is no longer used.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from labelgrove.ontology.readers.chains import chain_ends, kept_ancestors
from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.text.integers import integer_key, is_plain_integer
from labelgrove.ontology.readers.text.lines import Lines

__all__ = ["COMPANIONS", "NAME_CLASSES", "NODES", "find_nodes", "read_taxdump"]

NODES = "nodes.dmp"
"""Name of the file with the hierarchy."""

_NAMES, _MERGED, _DELETED = "names.dmp", "merged.dmp", "delnodes.dmp"

COMPANIONS = tuple(name + end for name in (_NAMES, _MERGED, _DELETED) for end in ("", ".gz"))
"""Names of the files beside it that are read too."""

_SCIENTIFIC = "scientific name"

NAME_CLASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "synonym": ("exact", ""),
        "genbank synonym": ("exact", ""),
        "equivalent name": ("exact", ""),
        "common name": ("exact", ""),
        "genbank common name": ("exact", "en"),
        "acronym": ("exact", ""),
        "genbank acronym": ("exact", ""),
        "authority": ("exact", ""),
        "anamorph": ("exact", ""),
        "genbank anamorph": ("exact", ""),
        "teleomorph": ("exact", ""),
        "includes": ("narrow", ""),
        "in-part": ("broad", ""),
        "blast name": ("related", "en"),
        "misspelling": ("related", ""),
        "misnomer": ("related", ""),
        "type material": ("related", ""),
        "unpublished name": ("related", ""),
    }
)
"""Kind and language that a name of each class gets; ``scientific name`` is the name of the label."""

_UNKNOWN_CLASS = ("related", "")
_MARK, _END = "\t|\t", "\t|"


def find_nodes(folder: Path) -> Path | None:
    """Return the file ``nodes.dmp`` of a folder, which may be packed; None if there is none."""
    return _beside(folder / NODES, NODES)


def read_taxdump(path: Path, into: Collector, options: Options) -> None:
    """Read ``nodes.dmp`` and the files beside it into a collector."""
    if path.name in COMPANIONS:
        into.defect("foreign-file", 0, f"{path.name} belongs to {NODES}: give {NODES}, or their folder")
        return
    taxa = _Taxa(into, options.levels)
    taxa.read(path)
    deleted = _ids(_beside(path, _DELETED), into, 1)
    former = _former(_ids(_beside(path, _MERGED), into, 2), deleted, taxa, into)
    taxa.link(former)
    for new, old in sorted((new, old) for old, new in former.items() if new in into.labels):
        into.annotations.note(new, "alternative_id", old)
    for (key,), (file, at) in deleted.items():
        if key in taxa:
            into.recorder.add("former-id", file, at, f"{key} is deleted, and a taxon of {NODES}")
        else:
            into.annotations.retired[key] = at
    _read_names(_beside(path, _NAMES), taxa, into)
    into.report_undescribed()


# ---- the hierarchy -------------------------------------------------------------------------------------


class _Taxa:
    """The taxa of ``nodes.dmp``: which of them become labels, and the edges between them.

    Parameters
    ----------
    into : Collector
    levels : collection of str or None
        The ranks of the taxa that become labels; None for all.
    """

    def __init__(self, into: Collector, levels: Collection[str] | None) -> None:
        self._into = into
        self._levels = None if levels is None else frozenset(levels)
        self._found_levels: set[str] = set()
        self._child: list[str] = []
        self._parent: list[str] = []
        self._line = array("q")
        self._own_parents: dict[str, int] = {}
        self._left_out: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._into.labels or key in self._left_out

    def is_left_out(self, key: str) -> bool:
        """Return whether a taxon is not a label because of its rank."""
        return key in self._left_out

    def read(self, path: Path) -> None:
        """Read all records; a taxon that is left out is remembered with its parent."""
        into, levels = self._into, self._levels
        for (key, parent), rank, at in _nodes(path, into):
            if key in self:
                into.defect("duplicate-id", at, f"{key} under {parent}")
            if key == parent:
                self._own_parents.setdefault(key, at)
            else:
                self._child.append(key)
                self._parent.append(parent)
                self._line.append(at)
            if levels is None or rank in levels or key == parent:
                into.describe(key, at)
                self._found_levels.add(rank)
            else:
                self._left_out.add(key)
        self._left_out -= into.labels.keys()

    def link(self, former: Mapping[str, str]) -> None:
        """Add the edges; parents that are former ids are replaced by the taxa that they mean now.

        Of several taxa that are their own parents, one is the root: ``1``, or else the smallest key.
        """
        into = self._into
        root = "1" if "1" in self._own_parents else min(self._own_parents, default="")
        for key, at in sorted(self._own_parents.items()):
            if key != root:
                into.edge(key, key, at)
        moved = former.keys() & self._parent
        for i, parent in enumerate(self._parent if moved else ()):
            if parent in moved:
                into.defect(
                    "former-parent", self._line[i], f"{self._child[i]} under {parent}, now {former[parent]}"
                )
                self._parent[i] = former[parent]
        if self._levels is None:
            into.edges_at(self._child, self._parent, self._line)
            return
        for level in sorted(self._levels - self._found_levels):
            into.defect("unknown-level", 0, f"{level!r} is not a rank in this file")
        self._link_levels()

    def _link_levels(self) -> None:
        """Add an edge from each label to the closest labels above it."""
        into = self._into
        parents: dict[str, list[str]] = {key: [] for key in self._left_out}
        for child, parent in zip(self._child, self._parent, strict=True):
            if child in parents:
                parents[child].append(parent)
        above = kept_ancestors(parents)
        for child, parent, at in zip(self._child, self._parent, self._line, strict=True):
            if child not in parents:
                for label in above(parent):
                    into.edge(child, label, at)


def _nodes(path: Path, into: Collector) -> Iterator[tuple[tuple[str, str], str, int]]:
    """Yield ((taxon, parent), rank, line) of each record of ``nodes.dmp``."""
    for number, lines in Lines(path, into.recorder).blocks():
        for at, line in enumerate(lines, number):
            cells = line.split(_MARK, 3)
            n = len(cells)
            if n < 3:
                if line and not line.isspace():
                    into.defect("columns", at, line)
                continue
            if line[-2:] != _END:
                into.defect("record-end", at, line)
            key: str | None = cells[0]
            parent: str | None = cells[1]
            if not (is_plain_integer(cells[0]) and is_plain_integer(cells[1])):
                key, parent = (_id(cell, into, into.file, at) for cell in cells[:2])
            if key is not None and parent is not None:
                yield (key, parent), (cells[2] if n > 3 else cells[2].removesuffix(_END)).strip(), at


# ---- the files beside it -------------------------------------------------------------------------------


def _beside(path: Path, name: str) -> Path | None:
    """Return the file `name` beside `path`, which may be packed; None if there is none."""
    found = (path.with_name(name + end) for end in ("", ".gz"))
    return next((file for file in found if file.is_file()), None)


def _records(path: Path, into: Collector, n_cells: int) -> Iterator[tuple[str, int, list[str]]]:
    """Yield (file, line, cells) of each record that has `n_cells` cells; report the others."""
    source, recorder = Lines(path, into.recorder), into.recorder
    for number, lines in source.blocks():
        for at, line in enumerate(lines, number):
            if not line or line.isspace():
                continue
            ended = line[-2:] == _END
            cells = (line[:-2] if ended else line).split(_MARK)
            if len(cells) != n_cells:
                recorder.add("columns", source.name, at, line)
                continue
            if not ended:
                recorder.add("record-end", source.name, at, line)
            yield source.name, at, cells


def _id(text: str, into: Collector, file: str, at: int) -> str | None:
    """Return the id of a taxon; None if it is not a number, which is reported."""
    bare = text.strip()
    if not bare:
        into.recorder.add("empty-key", file, at, text)
        return None
    if bare != text:
        into.recorder.add("padded-cell", file, at, text)
    return integer_key(bare, into.recorder, file, at)


def _ids(path: Path | None, into: Collector, n_cells: int) -> dict[tuple[str, ...], tuple[str, int]]:
    """Return the (file, line) of each record of ids; records that are repeated count once."""
    found: dict[tuple[str, ...], tuple[str, int]] = {}
    if path is not None:
        for file, at, cells in _records(path, into, n_cells):
            ids = tuple(key for cell in cells if (key := _id(cell, into, file, at)) is not None)
            if len(ids) == n_cells:
                found.setdefault(ids, (file, at))
    return found


def _former(
    merged: Mapping[tuple[str, ...], tuple[str, int]],
    deleted: Collection[tuple[str, ...]],
    taxa: _Taxa,
    into: Collector,
) -> dict[str, str]:
    """Return the taxon that each former id means now; report records that contradict others.

    A former id may have been merged into an id that was itself merged later.
    """
    chosen: dict[str, str] = {}
    for (old, new), (file, at) in sorted(merged.items()):
        fault = ""
        if old in taxa:
            fault = f"is a taxon of {NODES}"
        elif (old,) in deleted:
            fault = f"is in {_DELETED}"
        elif old in chosen:
            fault = f"is merged into {chosen[old]}"
        if fault:
            into.recorder.add("former-id", file, at, f"{old} is merged into {new}, and {fault}")
        else:
            chosen[old] = new
    former = {}
    for old, end in chain_ends(chosen).items():
        if end is not None and end in taxa:
            former[old] = end
        else:
            file, at = merged[old, chosen[old]]
            into.recorder.add("unknown-taxon", file, at, f"{old} is merged into {chosen[old]}")
    return former


def _read_names(path: Path | None, taxa: _Taxa, into: Collector) -> None:
    """Read the names of all labels."""
    if path is None:
        into.defect("missing-file", 0, f"{_NAMES} is not beside it; keys are the names of the labels")
        return
    labels, names, add = into.labels, into.names, into.recorder.add
    without_text: set[str] = set()
    for file, at, cells in _records(path, into, 4):
        key = cells[0] if is_plain_integer(cells[0]) else _id(cells[0], into, file, at)
        if key is None:
            continue
        if key not in labels:
            if not taxa.is_left_out(key):
                add("unknown-taxon", file, at, f"{cells[1]}, a name of {key}")
            continue
        text = cells[1].strip()
        if text != cells[1]:
            add("padded-cell", file, at, cells[1])
        if not text:
            add("missing-name", file, at, key)
            without_text.add(key)
        else:
            _take_name(key, text, cells[2].strip(), cells[3], into, (file, at))
    for key, at in labels.items() if len(names) < len(labels) else ():
        if key not in names and key not in without_text:
            into.defect("missing-name", at, key)


def _take_name(key: str, text: str, unique: str, kind: str, into: Collector, at: tuple[str, int]) -> None:
    """Record a name of a label, given the class of the name as `kind`."""
    if kind != _SCIENTIFIC:
        known = NAME_CLASSES.get(kind)
        if known is None:
            into.recorder.add("name-class", *at, f"{kind!r} of {text}")
        into.annotations.name(key, text, *(known or _UNKNOWN_CLASS))
        return
    if unique and unique != text:
        into.annotations.name(key, text)
        text = unique
    file, line = at
    into.name(key, text, line, file)
