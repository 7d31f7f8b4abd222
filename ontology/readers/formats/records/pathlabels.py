"""Turn label paths, such as Animals > Dogs > Terriers, into labels and edges.

The key of a label is its path of names: ``Animals/Dogs/Terriers``, where ``~`` and ``/`` inside a name are
written ``~0`` and ``~1``, as in the format `json`. The same name at two places is two labels. If the source
gives ids, they are the keys of their paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from labelgrove.ontology.readers.collect import LONGEST_KEY, Collector

__all__ = ["PathLabels", "path_of", "path_step"]


def path_step(name: str) -> str:
    """Return a name as a step of a path.

    >>> path_step("a/b~")
    'a~1b~0'
    """
    return name.replace("~", "~0").replace("/", "~1")


def path_of(names: Sequence[str]) -> str:
    """Return the path that is the key of the label at the end of `names`; empty names are left out.

    >>> path_of(["A", "", "B/C"])
    'A/B~1C'
    """
    return "/".join(path_step(name) for name in names if name)


class PathLabels:
    """Collect the labels of paths, each label once.

    Parameters
    ----------
    into : Collector
    ids : mapping of path to str
        The keys of paths that have an id.
    """

    def __init__(self, into: Collector, ids: Mapping[str, str] = MappingProxyType({})) -> None:
        self._into = into
        self._ids = ids
        self._seen: set[str] = set()

    def add(self, names: Sequence[str], at: int, last_name: str = "") -> str | None:
        """Add the labels of a path from the top, and return the key of the last; None if there is none.

        Empty names at the end are left out: paths may be of different lengths. An empty name before another
        is reported. `last_name` is the name of the last label, if it is not that of its step.
        """
        into = self._into
        depth = max((i for i, name in enumerate(names, 1) if name), default=0)
        if "" in names[:depth]:
            into.defect("missing-level", at, " > ".join(names[:depth]))
        above: str | None = None
        path = ""
        for i, name in enumerate(names[:depth], 1):
            if not name:
                continue
            path = f"{path}/{path_step(name)}" if path else path_step(name)
            key = self._ids.get(path, path)
            if path not in self._seen:
                self._seen.add(path)
                into.describe(key, at)
                shown = last_name if last_name and i == depth else name
                if shown != key:
                    into.name(key, shown, at)
                if above is not None:
                    into.edge(key, above, at)
            above = key
            if len(path) > LONGEST_KEY:  # reported; the keys below would be longer still
                if key != path:
                    into.defect("key-too-long", at, path)
                break
        return above
