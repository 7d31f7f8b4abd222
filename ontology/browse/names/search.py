"""Find labels by key and name: ranked, under a branch, in pages, and counted by facets.

A query matches a label if one of its names matches. The ways to match, the best first (`MATCHES`):

1. ``key``: the query is the key, letter by letter
2. ``exact``: folded, the query is the whole name
3. ``prefix``: folded, the name begins with the query
4. ``words``: each part of the query between blanks begins a word of the name, in any order
5. ``part``: each part of the query occurs in the name, in any order

Names that match in the same way are sorted by importance: the most used first where uses are known; keys and
preferred names, then synonyms, then narrower, broader, related and former names; larger branches (in powers
of two) before smaller ones; shorter names before longer ones; then canonical order. A label stands where its
best name stands. Deprecated labels come after all others, except one whose key is the query.

A part of several words, such as ``c++``, matches wherever it occurs. A part of one word that has fewer than
three bytes matches only where a word begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.folding import chunks, fold, words
from labelgrove.ontology.browse.names.namerows import KINDS
from labelgrove.ontology.browse.names.nametable import NameTable
from labelgrove.ontology.browse.pages import cursor, position
from labelgrove.ontology.browse.structure.walk import Walk
from labelgrove.ontology.errors import InputError, counted, first_few

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["LONGEST_QUERY", "MATCHES", "MOST_PARTS", "Facets", "Found", "Hit", "Search"]

MATCHES = ("key", "exact", "prefix", "words", "part")
"""The ways in which a query can match, the best first."""

LONGEST_QUERY = 4_096
"""Most characters of a query: as many as a key can have."""

MOST_PARTS = 64
"""Most parts of a query between blanks: each is compared with all words, and some names have 30 words."""

_KINDS_THAT_NAME = [
    [KINDS.index(kind) for kind in kinds] for kinds in (("key", "preferred"), ("exact",), ("former",))
]
_KEY, _EXACT, _PREFIX, _WORDS, _PART = range(len(MATCHES))
_NOT_FOUND = np.iinfo(np.int64).max
_MOST_BRANCHES = _MOST_LANGUAGES = 20
_BRANCHES_KEPT = 8


@dataclass(frozen=True)
class Hit:
    """A label that a query found.

    Attributes
    ----------
    label : int
    match : str
        One of `MATCHES`.
    text, kind, language : str
        The name that matched, its kind (one of `KINDS`) and its language; the language is empty if unknown.
    """

    label: int
    match: str
    text: str
    kind: str
    language: str = ""


@dataclass(frozen=True)
class Facets:
    """How the labels that a query found are distributed.

    Attributes
    ----------
    leaves : int
        Number of leaves among them.
    depths : dict of int to int
        Number of them at each depth, ascending; empty for an undirected graph.
    deprecated : int
        Number of deprecated labels among them.
    languages : dict of str to int
        Number of them that have a matching name in each language, the largest number first, at most 20. Names
        of unknown language are not counted.
    branches : list of (int, int)
        Branches with their number of found labels, the largest number first, at most 20. These are the
        branches of the children of the label under which the query searched; otherwise those of the children
        of the only root, or those of the roots. If one of them is inside another, its labels count in both.
    """

    leaves: int
    depths: dict[int, int]
    deprecated: int
    languages: dict[str, int]
    branches: list[tuple[int, int]]


@dataclass(frozen=True)
class Found:
    """A page of the labels that a query found.

    Attributes
    ----------
    items : list of Hit
    total : int
        Number of labels found.
    next : str or None
        Cursor of the next page; None if this is the last one.
    facets : Facets or None
        None unless requested.
    """

    items: list[Hit]
    total: int
    next: str | None
    facets: Facets | None = None


class Search:
    """Searches the names of the labels of one version.

    Parameters
    ----------
    names : NameTable
    walk : Walk
        Both of the same version.

    Examples
    --------
    >>> from labelgrove.ontology.browse.structure.adjacency import Adjacency
    >>> from labelgrove.ontology.browse.structure.order import Order
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("cork oak", "oak"), ("elm", "tree")])
    >>> search = Search(NameTable.of(graph), Walk(Order.of(graph), Adjacency.of(graph)))
    >>> [(hit.text, hit.match) for hit in search.find("Oak").items]
    [('oak', 'exact'), ('cork oak', 'words')]
    """

    def __init__(self, names: NameTable, walk: Walk) -> None:
        self._names, self._walk = names, walk
        self._graph: LabelGraph = walk.graph
        self._below = lru_cache(_BRANCHES_KEPT)(walk.descendants)

    def find(
        self,
        text: str,
        *,
        limit: int = 50,
        after: str | None = None,
        under: int | None = None,
        leaf: bool | None = None,
        depth: int | None = None,
        deprecated: bool | None = None,
        language: str | None = None,
        facets: bool = False,
    ) -> Found:
        """Return a page of the labels that match `text`, the best first.

        Parameters
        ----------
        text : str
            The query.
        limit, after
            Size of the page and the cursor before it, as for `ontology.browse.pages.cut`.
        under : int, optional
            Find only this label and the labels below it, along all edges.
        leaf : bool, optional
            Find only leaves, or only other labels.
        depth : int, optional
            Find only labels at this depth.
        deprecated : bool, optional
            Find only deprecated labels, or only others.
        language : str, optional
            Find labels only by names in this language: ``"en"`` for names in ``"en"``, ``"en-GB"``, and so
            on. Keys have no language.
        facets : bool, default=False
            Whether to count the labels, as `Facets` says.

        Raises
        ------
        InputError
            For a query that is blank, too long or of more than `MOST_PARTS` parts, for `under` or `depth`
            of an undirected graph, for a language in which there is no name, and as
            `ontology.browse.pages.cut`.

        Notes
        -----
        Names that begin with the query, or with words that do, are found by binary search. Inside words, the
        query is compared with every distinct word of the version.
        """
        folded = self._checked(text)
        question = (self._graph.digest, "search", text, under, leaf, depth, deprecated, language)
        best, rows = self._best(text, folded, self._spoken(language))
        found = self._kept(best, under, leaf, depth, deprecated)
        begin = position(question, len(found), limit=limit, after=after)
        first = _smallest(best[found], begin + limit)
        page = found[first[begin:]]
        return Found(
            [self._hit(int(label), int(best[label])) for label in page],
            len(found),
            cursor(question, begin + limit) if begin + limit < len(found) else None,
            self._counted(found, rows, under) if facets else None,
        )

    def suggest(self, text: str, *, limit: int = 10) -> list[Hit]:
        """Return the first labels that `find` returns, for a text that is still being typed.

        The labels are the same as those of `find`, but are not counted, which is faster. A text that `find`
        refuses gives an empty list.
        """
        folded = fold(text)
        if not folded or _is_too_much(text, folded):
            return []
        found: dict[int, int] = {}
        for match in range(len(MATCHES)):
            if match == _PART and self._same_in_words(folded):
                break
            value, label = self._valued(match, self._matching(match, text, folded))
            self._note_first(found, value, label, limit)
            if sum(number < self._first_deprecated for number in found.values()) >= limit:
                break
        first = sorted(found, key=found.__getitem__)[:limit]
        return [self._hit(label, found[label]) for label in first]

    @staticmethod
    def _note_first(
        found: dict[int, int], value: NDArray[np.int64], label: NDArray[np.int32], limit: int
    ) -> None:
        """Add the `limit` labels with the smallest values, and these values, to those found before.

        A label that was found before keeps the smaller value.
        """
        n = 2 * (limit + len(found))  # rows, of which some belong to one label
        wanted = limit + len(found)
        while True:
            first = _smallest(value, n)
            noted: dict[int, int] = {}
            for i in first.tolist():
                noted.setdefault(int(label[i]), int(value[i]))
            if len(noted) >= wanted or len(first) == len(value):
                break
            n *= 4
        for one, number in noted.items():
            found[one] = min(number, found.get(one, number))

    def named(self, text: str, *, folded: bool = True) -> list[int]:
        """Return the labels that `text` means; several if it is ambiguous, and none if it is unknown.

        Parameters
        ----------
        text : str
        folded : bool, default=True
            Whether names that only fold to the same are found.

        Notes
        -----
        A text that is a key means the label with this key. Otherwise, the labels with this preferred name
        count before those with this synonym (of kind ``exact``), and these before those with this former key
        or name (`ontology.browse.names.namerows.KINDS`). Of these kinds, names that equal the text letter by
        letter count before names that fold to the same. Narrower, broader and related names mean no label.
        Deprecated labels are returned only if there are no others. The most important label comes first.
        """
        if (label := self._graph.keys.find(text)) >= 0:
            return [label]
        names = self._names
        rows = _indices(names.forms_from(fold(text), whole=True))
        rows = rows[np.argsort(names.place[rows])]
        for kinds in _KINDS_THAT_NAME:
            alike = rows[np.isin(names.kind[rows], kinds)].tolist()
            equal = [row for row in alike if self._text(row) == text]
            labels = list(dict.fromkeys(names.label[equal or (alike if folded else [])].tolist()))
            if labels:
                return [i for i in labels if not names.deprecated[i]] or labels
        return []

    # ---- matching ----------------------------------------------------------------------------------

    def _checked(self, text: str) -> str:
        folded = fold(text)
        if not folded:
            raise InputError("text: give at least one character to search for")
        if _is_too_much(text, folded):
            raise InputError(
                f"text: {len(text):,} characters in {counted(len(chunks(folded)), 'part')}; search for at "
                f"most {LONGEST_QUERY:,} characters in {MOST_PARTS} parts between blanks"
            )
        return folded

    def _best(
        self, text: str, folded: str, spoken: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], slice | NDArray[np.integer]]:
        """Return, for each label, its best match and the place of the row that matched, as one number.

        Return also the rows that match in any way. `spoken` says which languages count; None for all.
        """
        best = np.full(self._graph.n_labels, _NOT_FOUND, dtype=np.int64)
        rows: slice | NDArray[np.integer] = slice(0, 0)
        for match in range(len(MATCHES)):  # the last way includes the others
            if match == _PART and self._same_in_words(folded):
                break
            rows = self._matching(match, text, folded)
            if spoken is not None:
                rows = _indices(rows)
                rows = rows[spoken[self._names.language[rows]]]
            self._note(best, match, rows)
        return best, rows

    @property
    def _first_deprecated(self) -> int:
        """The least number for a deprecated label in the results of `_best`, but for a match of its key."""
        return len(MATCHES) * len(self._names.place)

    def _note(self, best: NDArray[np.int64], match: int, rows: slice | NDArray[np.integer]) -> None:
        value, label = self._valued(match, rows)
        np.minimum.at(best, label, value)

    def _valued(
        self, match: int, rows: slice | NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the numbers of rows that match in one way, as `_best` says, and their labels."""
        label = self._names.label[rows]
        value = self._names.place[rows] + np.int64(match * len(self._names.place))
        if match != _KEY and self._some_deprecated:
            value += self._names.deprecated[label] * np.int64(self._first_deprecated)
        return value, label

    def _same_in_words(self, folded: str) -> bool:
        """Return whether every part of a query is found inside words only where it begins one, too."""
        return all(len(words(part)) > 1 or self._names.only_at_beginnings(part) for part in chunks(folded))

    @cached_property
    def _some_deprecated(self) -> bool:
        return bool(self._names.deprecated.any())

    def _spoken(self, language: str | None) -> NDArray[np.bool_] | None:
        """Return for each language whether it is `language`, or a variety of it; None for all languages."""
        if language is None:
            return None
        tags, wanted = [tag.lower() for tag in self._names.languages], language.lower()
        spoken = np.array([bool(tag) and (tag == wanted or tag.startswith(wanted + "-")) for tag in tags])
        if not spoken.any():
            known = [tag for tag in self._names.languages if tag]
            which = f"there are names in {first_few(known)}" if known else "no name has a language"
            raise InputError(f"language: no name is in {language!r}; {which}")
        return spoken

    def _matching(self, match: int, text: str, folded: str) -> slice | NDArray[np.integer]:
        """Return the rows that match a query in one of the ways `MATCHES`, or in a better one."""
        names = self._names
        if match == _KEY:
            label = self._graph.keys.find(text)
            rows = names.forms_from(folded, whole=True)
            is_key = (names.label[rows] == label) & (names.kind[rows] == KINDS.index("key"))
            key_rows: NDArray[np.integer] = np.flatnonzero(is_key) + rows.start
            return key_rows
        if match in (_EXACT, _PREFIX):
            return names.forms_from(folded, whole=match == _EXACT)
        found = [self._rows_with(part, inside=match == _PART) for part in chunks(folded)]
        fewest, *others = sorted(found, key=len)
        for other in others:
            has = np.zeros(len(names.label), dtype=bool)
            has[other] = True
            fewest = fewest[has[fewest]]
        return fewest

    def _rows_with(self, part: str, *, inside: bool) -> NDArray[np.integer]:
        if inside or len(words(part)) > 1:
            return self._names.rows_containing(part)
        return self._names.rows_of_words_from(part)

    # ---- answers -----------------------------------------------------------------------------------

    def _kept(
        self,
        best: NDArray[np.int64],
        under: int | None,
        leaf: bool | None,
        depth: int | None,
        deprecated: bool | None,
    ) -> NDArray[np.integer]:
        """Return the labels that were found and pass the filters, in canonical order."""
        if under is None:
            found = np.flatnonzero(best != _NOT_FOUND)
        else:
            found = np.sort(np.append(under, self._below(under)))  # some may come before `under`
            found = found[best[found] != _NOT_FOUND]
        if leaf is not None:
            found = found[self._is_leaf(found) == leaf]
        if deprecated is not None:
            found = found[self._names.deprecated[found] == deprecated]
        if depth is not None:
            if not self._graph.directed:
                raise InputError("depth: this graph is undirected, so its labels have no depth; leave it out")
            found = found[self._walk.order.depth[found] == depth]
        return found

    def _is_leaf(self, labels: NDArray[np.integer]) -> NDArray[np.bool_]:
        if not self._graph.directed:
            at_most_one: NDArray[np.bool_] = self._graph.leaf_mask[labels]
            return at_most_one
        childless: NDArray[np.bool_] = self._walk.adjacency.n_children(labels) == 0
        return childless

    def _counted(
        self, found: NDArray[np.integer], rows: slice | NDArray[np.integer], under: int | None
    ) -> Facets:
        order, directed = self._walk.order, self._graph.directed
        at_depth = np.bincount(order.depth[found]).tolist() if directed else []
        tops = self._tops(under) if directed else np.zeros(0, dtype=np.int32)
        # for each top, because one may be inside the branch of another
        held = np.searchsorted(found, order.end[tops]) - np.searchsorted(found, tops)
        largest = np.argsort(-held, kind="stable")[:_MOST_BRANCHES]
        return Facets(
            int(self._is_leaf(found).sum()),
            {depth: n for depth, n in enumerate(at_depth) if n},
            int(self._names.deprecated[found].sum()),
            self._in_languages(found, rows),
            [(int(tops[i]), int(held[i])) for i in largest if held[i]],
        )

    def _in_languages(self, found: NDArray[np.integer], rows: slice | NDArray[np.integer]) -> dict[str, int]:
        names = self._names
        if len(names.languages) == 1:
            return {}
        kept = np.zeros(self._graph.n_labels, dtype=bool)
        kept[found] = True
        label, language = names.label[rows], names.language[rows]
        counted = kept[label] & (language > 0)
        number = {
            int(i): int(np.count_nonzero(np.bincount(label[counted & (language == i)], minlength=1)))
            for i in np.flatnonzero(np.bincount(language[counted]))
        }
        most = sorted(number, key=lambda i: (-number[i], i))[:_MOST_LANGUAGES]
        return {names.languages[i]: number[i] for i in most}

    def _tops(self, under: int | None) -> NDArray[np.int32]:
        """Return the labels by whose branches hits are counted, in canonical order."""
        roots = self._walk.roots
        if under is None and len(roots) == 1:
            under = int(roots[0])
        return roots if under is None else self._walk.adjacency.children(under)

    def _hit(self, label: int, value: int) -> Hit:
        match, place = divmod(value, len(self._names.place))
        match %= len(MATCHES)  # those of deprecated labels come after all others
        row = int(self._names.by_place[place])
        names = self._names
        kind, language = KINDS[int(names.kind[row])], names.languages[int(names.language[row])]
        return Hit(label, MATCHES[match], self._text(row), kind, language)

    def _text(self, row: int) -> str:
        names, label = self._names, int(self._names.label[row])
        if (stored := int(names.text[row])) >= 0:
            return names.texts[stored]
        return self._graph.keys[label] if names.kind[row] == KINDS.index("key") else self._graph.names[label]


def _is_too_much(text: str, folded: str) -> bool:
    return len(text) > LONGEST_QUERY or len(chunks(folded)) > MOST_PARTS


def _smallest(values: NDArray[np.int64], n: int) -> NDArray[np.integer]:
    """Return the indices of the `n` smallest of distinct values, ascending by value."""
    if n < len(values):
        few = np.argpartition(values, n - 1)[:n]
        return few[np.argsort(values[few])]
    return np.argsort(values)


def _indices(rows: slice | NDArray[np.integer]) -> NDArray[np.integer]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
