"""Find the versions of an ontology that have a label."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from labelgrove.documents.ontologies import describe_version

if TYPE_CHECKING:
    from labelgrove.ontology.keys import Keys
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["Histories"]

_NEWEST = 20
_MOST_KEPT = 4 * _NEWEST


class Histories:
    """Keeps the keys of versions open, because each page of a label looks into all of them.

    Safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._kept: OrderedDict[str, Keys] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, name: str, key: str) -> dict[str, Any]:
        """Return which of the newest versions of an ontology have a label of this key.

        ``items`` has these versions, the newest first, ``total`` is their number, and ``n_versions`` that of
        the versions that were looked at.
        """
        newest = [one for one in self.workspace.catalog.versions(name) if one.state == "ready"]
        newest = newest[: -_NEWEST - 1 : -1]
        items = [describe_version(one) for one in newest if self._keys(one).find(key) >= 0]
        return {"items": items, "total": len(items), "n_versions": len(newest)}

    def _keys(self, version: Version) -> Keys:
        with self._lock:
            if (kept := self._kept.get(version.digest)) is not None:
                self._kept.move_to_end(version.digest)
                return kept
        keys = self.workspace.label_graph_of(version).keys
        with self._lock:
            self._kept[version.digest] = keys
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return keys
