"""Read one mutant, and check what holds for every read, whatever the bytes are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.readers import formats, read
from tests.fuzz.sources import Source

__all__ = ["options_of", "read_mutant"]

_POLICIES: tuple[dict[str, str], ...] = (
    {},
    {"all": "fix", "roots": "virtual"},
    {"all": "fix", "roots": "largest"},
    {"all": "warn", "roots": "keep"},
)
_TEXTS: dict[str, tuple[Any, ...]] = {
    "direction": ("parent-child", "child-parent", "undirected"),
    "header": (True, False),
    "delimiter": ("space", "tab", "comma", "semicolon"),
    "relation": ("is_a", "is_a,part_of"),
    "namespace": ("MS",),
}
"""Values of options to try, for the formats that take them."""


def options_of(source: Source, seed: str) -> dict[str, Any]:
    """Return options with which a mutant is read: a format or none, policies, and options of the format."""
    rng = random.Random(f"{seed} options")
    known = {format.name: format for format in formats()}
    chosen: dict[str, Any] = {"policies": rng.choice(_POLICIES)}
    name = rng.choice((source.format, source.format, None, rng.choice(sorted(known))))
    if name is None:
        return chosen
    chosen["format"] = name
    for option, values in _TEXTS.items():
        if option in known[name].options and rng.random() < 0.15:
            chosen[option] = rng.choice(values)
    return chosen


def read_mutant(path: Path, options: dict[str, Any]) -> str:
    """Read the mutant at `path`; return whether it has a graph, only a report, or is refused.

    Any exception that is not a `GroveError`, and any broken rule, is a failure of the reader.
    """
    labels = path.with_name("labels.csv")
    if labels.exists() and options.get("format") == "lshtc":
        options = {**options, "labels": labels}
    try:
        result = read(path, strict=False, **options)
    except GroveError:
        return "refused"
    text = result.report.render()
    text.encode()
    json.dumps(result.report.to_dict(), allow_nan=False)
    if (result.graph is None) != bool(result.report.errors):
        raise ValueError(f"a graph beside errors, or neither of them: {text}")
    if result.graph is None or result.annotations is None:
        return "reported"
    if len(result.graph.digest) != 64:
        raise ValueError(f"digest: {result.graph.digest!r}")
    for _ in result.annotations.descriptions(result.graph):
        pass
    return "graph"
