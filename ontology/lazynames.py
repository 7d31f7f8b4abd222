"""Import the names of a package on first use; its stub says which module defines each name.

The stub ``__init__.pyi`` has a line ``from module import name as name`` for each name. Type checkers and
editors read the same stub (as in SPEC 1 of scientific-python).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]

_LINE = re.compile(r"^from ([\w.]+) import \(?\s*(\w+) as \2\b", re.MULTILINE)


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package; modules are imported on first use.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package.

    Examples
    --------
    >>> import labelgrove.ontology
    >>> lazy_names("labelgrove.ontology", labelgrove.ontology.__file__)[2]
    ['LabelGraph', 'ReadResult', 'Report', 'read']
    """
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:
        homes = {name: home for home, name in _LINE.findall(stub.read())}

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(homes), sorted(homes)
