"""Write the key of a label as an IRI, and find the key again: RDF names everything by IRIs.

A key that is an IRI names itself. Any other key is written in a namespace: its UTF-8 bytes are written as
``%20`` and the like, except ASCII letters and digits and ``_ . - ~ :``.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

__all__ = ["LABEL_NAMESPACE", "iri_of_key", "is_iri", "key_of_iri"]

LABEL_NAMESPACE = "urn:labelgrove:label:"
"""Namespace of keys that are not IRIs, unless another one is chosen."""

_IRI = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)[^\x00-\x20<>\"{}|\\^`\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f"
    r"-\u206f\u3000\ufdd0-\ufdef\ue000-\uf8ff\ufeff\ufff0-\uffff\U000e0000-\U0010ffff]+"
)
_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def is_iri(text: str) -> bool:
    """Return whether a text can be written as an IRI as it is; the IRI begins with ``urn:`` or has ``//``.

    >>> is_iri("http://example.org/oak"), is_iri("oak"), is_iri("http://example.org/red oak")
    (True, False, False)
    """
    return _IRI.fullmatch(text) is not None and not _ESCAPE.search(text)


def iri_of_key(key: str, namespace: str = LABEL_NAMESPACE) -> str:
    """Return the IRI of the label `key`.

    >>> iri_of_key("http://example.org/oak"), iri_of_key("red oak")
    ('http://example.org/oak', 'urn:labelgrove:label:red%20oak')
    """
    if is_iri(key) and not key.startswith((LABEL_NAMESPACE, namespace)):
        return key
    return namespace + quote(key, safe=":")


def key_of_iri(iri: str) -> str:
    """Return the key of which `iri_of_key` made an IRI in `LABEL_NAMESPACE`; another IRI is a key itself.

    >>> key_of_iri("urn:labelgrove:label:red%20oak"), key_of_iri("http://example.org/oak")
    ('red oak', 'http://example.org/oak')
    """
    if not iri.startswith(LABEL_NAMESPACE):
        return iri
    try:
        key = unquote_to_bytes(iri.removeprefix(LABEL_NAMESPACE)).decode()
    except UnicodeDecodeError:
        return iri
    return key if iri_of_key(key) == iri else iri
