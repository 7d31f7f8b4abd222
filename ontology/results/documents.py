"""Pack and read results that are documents: JSON files in the artifact store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import ArtifactError, InputError

if TYPE_CHECKING:
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["pack_document", "read_document"]


def pack_document(document: Mapping[str, Any]) -> bytes:
    r"""Return the bytes of a document: JSON in UTF-8, with its keys in their given order.

    Parameters
    ----------
    document : mapping
        Plain values; numbers must be finite.

    Raises
    ------
    InputError
        For NaN or an infinity, which JSON does not have.

    Examples
    --------
    >>> pack_document({"error": 0.5})
    b'{\n  "error": 0.5\n}\n'
    """
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InputError(f"document: {error}; every number of a result must be finite") from error
    return f"{text}\n".encode()


def read_document(artifacts: ArtifactStore, digest: str) -> dict[str, Any]:
    """Return the document in the artifact `digest`; anything but a JSON object raises `ArtifactError`."""
    try:
        document = json.loads(artifacts.read_bytes(digest), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"artifact {digest} is not JSON ({error}); expected a JSON object") from error
    if not isinstance(document, dict):
        raise ArtifactError(f"artifact {digest} contains a {type(document).__name__}, expected a JSON object")
    return document


def _refuse(constant: str) -> float:
    raise ValueError(f"it contains {constant}, but every number of a result must be finite")
