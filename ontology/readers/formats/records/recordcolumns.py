"""Determine what each column of a table of records is, from its header or from the option ``columns``.

Each record describes one label. A column has a role, such as ``key``, ``name`` or ``parent``; some roles may
have several columns, or columns by language (``name:de``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers.collect import ROLES_BY_LANGUAGE, SYNONYM_ROLES, Collector
from labelgrove.ontology.readers.formats.tables.tableheader import word_role
from labelgrove.ontology.readers.text.cells import MARKS, split_cells
from labelgrove.ontology.readers.text.languages import LANGUAGE_TAG

__all__ = [
    "LEVELS",
    "Columns",
    "has_record_header",
    "level_columns",
    "match_columns",
    "names_records",
    "record_role",
]

LEVELS = ("domain", "kingdom", "phylum", "class", "order", "superfamily", "family", "genus", "species")
"""Words of columns that hold the labels above a record, from the top."""

_WORDS = {
    "code": "key", "taxonid": "key", "labelid": "key", "classid": "key", "categoryid": "key",
    "conceptid": "key", "nodeid": "key", "curie": "key", "iri": "key", "uri": "key",
    "label": "name", "title": "name", "preflabel": "name", "preferredname": "name",
    "preferredlabel": "name", "term": "name", "displayname": "name", "scientificname": "name",
    "parents": "parent", "parentids": "parent", "parentkeys": "parent", "parentnameusageid": "parent",
    "isa": "parent", "parentcode": "parent", "parentname": "parent", "parentiri": "parent",
    "children": "children", "childids": "children", "childrenids": "children",
    "supercategory": "group",
    "description": "definition",
    "synonym": "synonyms", "synonyms": "synonyms", "exactsynonym": "synonyms", "exactsynonyms": "synonyms",
    "altlabel": "synonyms", "altlabels": "synonyms", "altname": "synonyms", "altnames": "synonyms",
    "alias": "synonyms", "aliases": "synonyms", "vernacularname": "synonyms", "commonname": "synonyms",
    "commonnames": "synonyms", "canonicalname": "synonyms", "alternativename": "synonyms",
    "alternativenames": "synonyms",
    "narrowsynonym": "narrow_synonyms", "narrowsynonyms": "narrow_synonyms",
    "broadsynonym": "broad_synonyms", "broadsynonyms": "broad_synonyms",
    "relatedsynonym": "related_synonyms", "relatedsynonyms": "related_synonyms",
    "hiddenlabel": "related_synonyms", "hiddenlabels": "related_synonyms",
    "notation": "notation", "notations": "notation",
    "altid": "alternative_ids", "altids": "alternative_ids", "alternativeid": "alternative_ids",
    "alternativeids": "alternative_ids", "alternateid": "alternative_ids",
    "alternateids": "alternative_ids",
    "deprecated": "deprecated", "isdeprecated": "deprecated", "obsolete": "deprecated",
    "isobsolete": "deprecated", "retired": "deprecated",
    "replacedby": "replaced_by", "isreplacedby": "replaced_by", "supersededby": "replaced_by",
    "consider": "consider",
    "reference": "references", "references": "references", "xref": "references", "xrefs": "references",
    "crossreference": "references", "crossreferences": "references", "seealso": "references",
    "url": "references", "citationuri": "references",
    "example": "examples", "examples": "examples",
    "level": "level", "taxonrank": "level", "taxonomicrank": "level",
    "acceptednameusageid": "accepted", "acceptedid": "accepted", "accepted": "accepted",
}  # fmt: skip
"""The role of each word that a record has and an edge has not; `record_role` also knows those of an edge."""

_ENDS = frozenset({"child", "neighbor", "first", "second"})
"""Roles that only the columns of an edge list have."""

_PLACING = frozenset({"parent", "children", "group"})

_REPEATABLE = frozenset(
    {
        "parent",
        "children",
        *SYNONYM_ROLES,
        "notation",
        "alternative_ids",
        "replaced_by",
        "consider",
        "references",
        "examples",
    }
)
"""Roles that several columns may have; of every other role there is one column, or one for each language."""

_NUMBERED = re.compile(r"(?:level|lvl|l|depth)[\s_-]*\d{1,3}")


@dataclass
class Columns:
    """What the columns of a table of records are.

    Attributes
    ----------
    header : tuple of str
        The words of the header.
    single : dict of role to int
        The column of each role that has one.
    several : list of (role, language, column)
        The columns of roles that may have several; also the names in a language.
    levels : list of int
        Columns of the labels above a record, from the top.
    """

    header: tuple[str, ...]
    single: dict[str, int] = field(default_factory=dict)
    several: list[tuple[str, str, int]] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.header)

    @property
    def used(self) -> set[int]:
        """The columns that are read."""
        return {*self.single.values(), *(at for _, _, at in self.several), *self.levels}

    def compacted(self) -> Columns:
        """Return these columns without those that are not read."""
        used = sorted(self.used)
        place = {old: new for new, old in enumerate(used)}
        return Columns(
            tuple(self.header[at] for at in used),
            {role: place[at] for role, at in self.single.items()},
            [(role, language, place[at]) for role, language, at in self.several],
            [place[at] for at in self.levels],
        )

    def of(self, role: str) -> list[int]:
        """Return the columns of a role, those of languages left out."""
        listed = [at for name, language, at in self.several if name == role and not language]
        return [self.single[role], *listed] if role in self.single else listed


@lru_cache(maxsize=4096)
def record_role(word: str) -> tuple[str | None, str]:
    """Return the role of a column that a header calls `word`, and its language; None for an unknown word.

    >>> record_role("Parent_ID"), record_role("name:de"), record_role("parent 2"), record_role("colour")
    (('parent', ''), ('name', 'de'), ('parent', ''), (None, ''))
    """
    for mark in ":@":
        base, _, tag = word.rpartition(mark)
        if base and LANGUAGE_TAG.fullmatch(tag.strip()) and (role := _plain_role(base)) in ROLES_BY_LANGUAGE:
            return role, tag.strip().lower()
    return _plain_role(word), ""


def _plain_role(word: str) -> str | None:
    bare = re.sub(r"[\s_-]", "", word.casefold())
    role = word_role(bare) or _WORDS.get(bare)
    if role is None and (numbered := bare.rstrip("0123456789")) != bare:
        role = word_role(numbered) or _WORDS.get(numbered)
        return role if role in _REPEATABLE else None
    return role


def has_record_header(line: str) -> str | None:
    """Return the delimiter of a header that names a label and its place; None for any other line.

    The label is named by a key or a name, and its place by parents, children, a group, or levels above it.

    >>> has_record_header("id;name;parents"), has_record_header("parent,child,name"), has_record_header("a,b")
    ('semicolon', None, None)
    """
    for delimiter in MARKS:
        if delimiter == "space":
            continue
        if names_records(split_cells(line, delimiter) or []):
            return delimiter
    return None


def names_records(words: Sequence[str]) -> bool:
    """Return whether columns or members with these names say of each label where it is placed.

    >>> names_records(["id", "supercategory"]), names_records(["name", "phylum", "class"])
    (True, True)
    >>> names_records(["id", "phylum", "class"]), names_records(["parent", "child", "name"])
    (False, False)
    """
    roles = {record_role(word)[0] for word in words}
    if _ENDS & roles or not {"key", "name"} & roles:
        return False
    return bool(_PLACING & roles) or ("name" in roles and len(level_columns(words)) > 1)


def match_columns(
    header: Sequence[str], at: int, into: Collector, columns: Mapping[str, str] | None
) -> Columns | None:
    """Return what the columns with these header words are; None if they do not name a label.

    `columns` is the caller's choice, a header word by role. Its words win over the known words of their
    roles. Defects of the header, which is line `at`, are reported.

    Raises
    ------
    InputError
        If a word of `columns` is not in the header.
    """
    found = Columns(tuple(header))
    roles: list[tuple[str | None, str]] = [record_role(word) for word in header]
    chosen = _chosen(found.header, columns or {}, into)
    taken = {role for role, language in chosen.values() if not language}
    for i, (role, language) in enumerate(roles):
        if i in chosen:
            roles[i] = chosen[i]
        elif role in taken and not language:
            roles[i] = None, ""
    found.levels = _levels(header, roles)
    levels = set(found.levels)
    ambiguous = False
    for i, (role, language) in enumerate(roles):
        if role is None or role in _ENDS or i in levels:
            continue
        if role in _REPEATABLE or language:
            found.several.append((role, language, i))
        elif role in found.single:
            first = header[found.single[role]]
            into.defect(
                "header",
                at,
                f"the columns {first!r} and {header[i]!r} both name the {role}: "
                f"choose one with the option columns ({role}={header[i]})",
            )
            ambiguous = True
        else:
            found.single[role] = i
    if ambiguous:
        return None
    if "key" not in found.single and "name" not in found.single:
        into.defect("header", at, f"{', '.join(header)}: no column is known as key or name")
        return None
    used = found.used
    for i, word in enumerate(header):
        if i not in used:
            called = word or f"column {i + 1}, without a name"
            into.defect("extra-column", at, f"{called}: its cells are left out")
    return found


def _chosen(
    header: tuple[str, ...], columns: Mapping[str, str], into: Collector
) -> dict[int, tuple[str, str]]:
    """Return (role, language) of each column that the caller named."""
    chosen: dict[int, tuple[str, str]] = {}
    for asked, word in columns.items():
        if word not in header:
            raise InputError(
                f"columns: {into.file} has no column {word!r} (for {asked}); its columns: {', '.join(header)}"
            )
        role, _, language = asked.partition(":")
        chosen[header.index(word)] = role, language.lower()
    return chosen


def _levels(header: Sequence[str], roles: list[tuple[str | None, str]]) -> list[int]:
    """Return the columns of levels, from the top; none if other columns place a label."""
    if {role for role, _ in roles} & {"parent", "children"}:
        return []
    found = level_columns(header)
    return found if len(found) > 1 else []


def level_columns(header: Sequence[str]) -> list[int]:
    """Return the columns that hold one level of a path each, from the top.

    The column ``species`` is a level only if no other column names the label.

    >>> level_columns(["id", "phylum", "kingdom"]), level_columns(["level 2", "level 1"])
    ([2, 1], [1, 0])
    """
    words = [word.strip().casefold() for word in header]
    is_named = any(record_role(word)[0] == "name" for word in header)
    known = LEVELS[:-1] if is_named else LEVELS
    named = [words.index(word) for word in known if word in words]
    numbered = [i for i, word in enumerate(words) if _NUMBERED.fullmatch(word)]
    by_number = sorted(numbered, key=lambda i: int(re.sub(r"\D", "", words[i])))
    return max(named, by_number, key=len)
