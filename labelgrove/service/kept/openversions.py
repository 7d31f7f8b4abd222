"""Keep the versions that were used last open for browsing."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Literal

import labelgrove
from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.structure.levels import Levels
from labelgrove.ontology.browse.structure.window import DrawnTree
from labelgrove.ontology.errors import InputError

if TYPE_CHECKING:
    from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
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
    space : callable
        A metric -> the space of all labels; the last one is kept, as making it takes time.
    tree : callable
        The arguments `opened` and `inverted` of a `DrawnTree` -> that tree; the last ones are kept, because
        whoever scrolls asks for the same tree again and again.
    """

    def __init__(self, workspace: Workspace, version: Version) -> None:
        self.version = version
        annotations = functools.cache(lambda: workspace.annotations(version.ontology, version.digest))
        self.answers = Answers(workspace.label_index_of(version), annotations)
        self.levels = Levels(self.answers.index.order)
        self.space = functools.lru_cache(1)(self._space)
        self.tree = functools.lru_cache(_TREES_KEPT)(self._tree)

    def _tree(self, opened: frozenset[int], inverted: bool) -> DrawnTree:
        return DrawnTree(self.answers.index.walk, opened, inverted=inverted)

    def _space(self, metric: Literal["auto", "tree"]) -> MetricSpace:
        from labelgrove.ontology.geometry import metric_space

        return metric_space(self.answers.index.graph, metric)

    @property
    def tag(self) -> str:
        """Text that differs whenever an answer about the version may differ."""
        content = f"{self.version.digest[:16]}-{(self.version.annotations_sha256 or 'none')[:16]}"
        return f"{content}-{labelgrove.__version__}"

    @property
    def head(self) -> dict[str, str]:
        """The entries ``ontology`` and ``version`` of documents about it."""
        return {"ontology": self.version.ontology, "version": self.version.digest}

    def label(self, key: str) -> int:
        """Return the label of a key.

        Raises
        ------
        UnknownLabelError
            If there is no such label.
        """
        return self.answers.index.graph.keys.index(key)

    def tops(self, focus: str | None) -> list[int]:
        """Return the labels at the top of a map: the label with the key `focus`, or all roots.

        Raises
        ------
        InputError, UnknownLabelError
            If the graph has no branches, or no such label.
        """
        if focus is not None:
            return [self.label(focus)]
        if not self.answers.index.graph.directed:
            raise InputError("this graph is undirected, so it has no branches; search its labels instead")
        roots: list[int] = self.answers.index.walk.roots.tolist()
        return roots


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
