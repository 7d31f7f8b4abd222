"""Keep the versions that were used last open for browsing."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import labelgrove
from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.structure.levels import Levels
from labelgrove.ontology.browse.structure.window import DrawnTree

if TYPE_CHECKING:
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["OpenVersions", "Opened"]


_TREES_KEPT = 8


class Opened:
    """A version that is open for browsing.

    Attributes
    ----------
    version : Version
        What the catalog knew about it when it was opened.
    answers : Answers
    levels : Levels
    tree : callable
        The arguments `opened` and `inverted` of a `DrawnTree` -> that tree; the last ones are kept, because
        whoever scrolls asks for the same tree again and again.
    """

    def __init__(self, workspace: Workspace, version: Version) -> None:
        self.version = version
        annotations = functools.cache(lambda: workspace.annotations(version.ontology, version.digest))
        self.answers = Answers(workspace.label_index_of(version), annotations)
        self.levels = Levels(self.answers.index.order)
        self.tree = functools.lru_cache(_TREES_KEPT)(self._tree)

    def _tree(self, opened: frozenset[int], inverted: bool) -> DrawnTree:
        return DrawnTree(self.answers.index.walk, opened, inverted=inverted)

    @property
    def tag(self) -> str:
        """Text that differs whenever an answer about the version may differ."""
        content = f"{self.version.digest[:16]}-{(self.version.annotations_sha256 or 'none')[:16]}"
        return f"{content}-{labelgrove.__version__}"

    def label(self, key: str) -> int:
        """Return the label of a key.

        Raises
        ------
        UnknownLabelError
            If there is no such label.
        """
        return self.answers.index.graph.keys.index(key)


class OpenVersions:
    """Opens versions on request and keeps the last ones open; safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
    most : int
        Most versions kept open.
    """

    def __init__(self, workspace: Workspace, most: int) -> None:
        self.workspace, self._most = workspace, most
        self._opened: OrderedDict[tuple[int, str | None], Opened] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[tuple[int, str | None], threading.Lock] = {}

    def open(self, name: str, version: str | None = None, *, keep: bool = True) -> Opened:
        """Return a version of the ontology `name`, open for browsing.

        `version` is the beginning of its digest; by default the version is the current one. Without `keep`,
        no other version is closed to keep this one open, for requests that look at all ontologies. Errors are
        those of `ontology.versions.workspace.Workspace.label_index`.
        """
        found = self.workspace.catalog.version(name, version)
        key = (found.id, found.annotations_sha256)
        with self._lock:
            if (opened := self._opened.get(key)) is not None:
                self._opened.move_to_end(key)
                return opened
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:  # others that want the same version wait for it; the rest go on
            with self._lock:
                if (opened := self._opened.get(key)) is not None:
                    return opened
            try:
                opened = Opened(self.workspace, found)
            finally:
                with self._lock:
                    self._opening.pop(key, None)
            with self._lock:
                if not keep and len(self._opened) >= self._most:
                    return opened
                self._opened[key] = opened
                while len(self._opened) > self._most:
                    self._opened.popitem(last=False)
        return opened
