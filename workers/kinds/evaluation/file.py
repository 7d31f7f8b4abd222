"""Write and read the file of an evaluation.

It contains the result of `adapter.evaluation.evaluate` as one document, with the digests of the input files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.results import pack_document, read_document

if TYPE_CHECKING:
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["FORMAT", "pack_evaluation", "read_evaluation"]

FORMAT = "labelgrove/evaluation/1"
_STORED = {"frechet_mean": "loki"}  # a file keeps the names, and so the bytes, of earlier versions


def pack_evaluation(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file that stores the document of an evaluation."""
    return pack_document(_renamed(document, _STORED))


def read_evaluation(artifacts: ArtifactStore, sha256: str) -> dict[str, Any]:
    """Return the document that `pack_evaluation` wrote."""
    return _renamed(read_document(artifacts, sha256), {old: new for new, old in _STORED.items()})


def _renamed(document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the document with new names for the rules that it compares, such as ``argmax``.

    `names` maps an old name to the new one; a rule that is not in `names` keeps its name.
    """
    rules = {names.get(rule, rule): found for rule, found in document["rules"].items()}
    return {**document, "rules": {rule: {**found, "rule": rule} for rule, found in rules.items()}}
