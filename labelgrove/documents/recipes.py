"""Read the recipes of the Cypher cookbook, ``docs/cypher.md``."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labelgrove.ontology.packagedfiles import packaged

__all__ = ["Recipe", "recipes"]

_BLOCK = re.compile(r"^([^\n]+)\n\n```cypher\n(.*?)```", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"// (name|params): (.*)\n")


@dataclass(frozen=True)
class Recipe:
    """A query that answers a frequent question.

    Attributes
    ----------
    name : str
    title : str
        The question, as a sentence.
    statement : str
    parameters : mapping of str to plain value
        An example value for each parameter but ``$version``.
    """

    name: str
    title: str
    statement: str
    parameters: Mapping[str, Any]


@functools.cache
def recipes() -> tuple[Recipe, ...]:
    """Return the recipes in the order of the cookbook.

    Raises
    ------
    MigrationError
        If the installation lacks the cookbook.

    Examples
    --------
    >>> recipes()[0].name
    'size'
    """
    found = []
    for title, block in _BLOCK.findall(packaged("docs/cypher.md").read_text(encoding="utf-8")):
        said = dict(_COMMENT.findall(block))
        parameters = json.loads(said.get("params", "{}"))
        found.append(Recipe(said["name"], title, _COMMENT.sub("", block).strip(), parameters))
    return tuple(found)
