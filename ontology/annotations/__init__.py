"""Annotations: what a source says about labels beside the hierarchy, such as synonyms and definitions.

The annotations of a version are an artifact of their own. They are not part of the digest of the version, so
they can change without making a new version. Search, label pages and mappings between versions read them.

In this list, a module imports only modules on the lines below it::

    versionannotations    the annotations of all labels of a version, as arrays
    columns               names and notes of many labels, sorted into arrays
    descriptions          what there is to say about one label
"""

from __future__ import annotations

from labelgrove.ontology.annotations.columns import Names
from labelgrove.ontology.annotations.descriptions import (
    MOST_USES,
    NAME_KINDS,
    NOTE_KINDS,
    Description,
    Name,
)
from labelgrove.ontology.annotations.versionannotations import ANNOTATIONS_FORMAT, Annotations

__all__ = [
    "ANNOTATIONS_FORMAT",
    "MOST_USES",
    "NAME_KINDS",
    "NOTE_KINDS",
    "Annotations",
    "Description",
    "Name",
    "Names",
]
