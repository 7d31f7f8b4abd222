"""Find the label that a text means, by key or name, and describe labels that have the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from textwrap import shorten
from typing import TYPE_CHECKING

from labelgrove.adapter.columns.bindingfile import By
from labelgrove.adapter.columns.textindex import TextIndex
from labelgrove.ontology.errors import BindingError, InputError, counted
from labelgrove.ontology.keys import Keys, Texts, is_name_of
from labelgrove.ontology.spelling import close_words, listed_close

if TYPE_CHECKING:
    from labelgrove.adapter.bundles.bundle import Bundle
    from labelgrove.ontology.labelgraph import LabelGraph

__all__ = [
    "CLASS_INDICES",
    "Describe",
    "Elsewhere",
    "LabelNames",
    "Synonyms",
    "describe_graph",
    "describe_labels",
    "describe_names",
    "describe_observed",
    "describe_points",
    "describe_unobserved",
    "header_hint",
    "key_and_name",
    "listed_faults",
    "look_like_numbers",
]

Describe = Callable[[int], str]
"""Takes the index of a label; returns text that distinguishes it from other labels of the same name."""

Elsewhere = Callable[[str], str]
"""Takes a text that means none of the labels; returns what it means elsewhere, or an empty text."""

Synonyms = Callable[[str], Sequence[int]]
"""Takes a text that is neither key nor name of a label; returns the labels that have it as another name."""

_Find = Callable[[str], Sequence[int]]

_RULES = ("auto", "key", "name", "position")
_SHOWN_CANDIDATES = 5
_LONGEST_DEFINITION = 80
_MOST_COMPARED = 10_000  # pairs of column and label in one error; above, only folded texts are compared


CLASS_INDICES = "if these are class indices: [classes[i] for i in {name}]; if they are keys: {keys}"
"""Advice for numbers that were given as labels."""

_LISTED = 5  # faults listed in one error


class LabelNames:
    """Finds the label that a text means, by the keys and names of labels.

    Parameters
    ----------
    keys, names : sequence of str, length n_labels
        Keys and, if there are any, names of the labels.
    by : {"auto", "key", "name"}
        As for `find_labels`.
    describe, elsewhere, synonyms : callable, optional
        As for `find_labels`.
    """

    def __init__(
        self,
        keys: Sequence[str],
        names: Sequence[str] | None,
        by: By,
        describe: Describe | None = None,
        elsewhere: Elsewhere | None = None,
        synonyms: Synonyms | None = None,
    ) -> None:
        if by not in _RULES:
            raise InputError(f"by: {by!r} is not one of {', '.join(_RULES)}")
        if by == "name" and names is None:
            raise BindingError("by: the labels have no names; bind by key")
        if names is not None and len(names) != len(keys):
            raise InputError(
                f"names: {counted(len(names), 'name')} for {counted(len(keys), 'key')}; give one for each"
            )
        self._keys, self._names, self._describe, self._elsewhere = keys, names, describe, elsewhere
        self._by, self._synonyms = by, synonyms
        self._n_compared = 0

    def meant(self, text: str) -> Sequence[int]:
        """Return the labels that a text may mean: one, none, or several if it is ambiguous.

        A key comes first, and then names in the order of the labels. Synonyms count only if there is neither.
        """
        found = [] if self._by == "name" else list(self._with_key(text))
        if self._by != "key":
            found += [i for i in self._with_name(text) if i not in found]
            if not found and self._synonyms is not None:
                found += self._synonyms(text)
        return found

    @cached_property
    def _with_key(self) -> _Find:
        return _finder(self._keys)

    @cached_property
    def _with_name(self) -> _Find:
        if self._names is None or (self._by == "auto" and self._names == self._keys):
            return _finder(())
        return _finder(self._names)

    def fault(self, text: str) -> str:
        """Return why a text does not mean exactly one label, with advice to the user.

        Call this method only for a text that is unknown or ambiguous.
        """
        labels = self.meant(text)
        if not labels:
            if self._elsewhere is not None and (said := self._elsewhere(text)):
                return f"{text!r} {said}"
            return f"{text!r} is unknown{self._close_to(text)}"
        shown = [self._described(i) for i in labels[:_SHOWN_CANDIDATES]]
        if len(labels) > len(shown):
            shown.append(f"and {len(labels) - len(shown):,} more")
        advice = "give the key of the label that you mean"
        if self._keys[labels[0]] == text:
            advice = (
                "if you mean the key, use by='key' (grove: --by key); otherwise give the key of the other"
            )
        if self._describe is None:
            return f"{text!r} is ambiguous: {', '.join(shown)}; {advice}"
        return "\n    ".join([f"{text!r} is ambiguous; {advice}:", *shown])

    def shown(self, i: int) -> str:
        """Return a label as messages show it; `i` is its index."""
        return key_and_name(i, self._keys, self._names)

    def _described(self, i: int) -> str:
        more = "" if self._describe is None else self._describe(i)
        return self.shown(i) + (more and f", {more}")

    def _close_to(self, text: str) -> str:
        """Return the end of a message that lists labels spelled like `text`, or says that there are none.

        Return an empty string if too many spellings would have to be compared with `text`.
        """
        folded = self._by_folded_spelling.get(_fold(text))
        if folded:
            return listed_close(folded[:_SHOWN_CANDIDATES])
        self._n_compared += len(self._spellings)
        if self._n_compared > _MOST_COMPARED:
            return ""
        return (
            listed_close(close_words(text, self._spellings, _SHOWN_CANDIDATES)) or "; nothing is close to it"
        )

    @cached_property
    def _by_folded_spelling(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for spelling in self._spellings:
            found.setdefault(_fold(spelling), []).append(spelling)
        return found

    @cached_property
    def _spellings(self) -> dict[str, None]:
        """All texts that mean a label; they are listed only for an error."""
        keys = () if self._by == "name" else self._keys
        names = () if self._by == "key" or self._names is None else self._names
        return dict.fromkeys(chain(keys, names))


def _finder(texts: Sequence[str]) -> _Find:
    """Return a function that returns the indices of the entries that equal a text, ascending."""
    if isinstance(texts, Keys):
        return lambda text: (i,) if (i := texts.find(text)) >= 0 else ()
    if isinstance(texts, Texts):
        return TextIndex(texts).find
    places: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        places.setdefault(text, []).append(i)
    return lambda text: places.get(text, ())


def describe_labels(
    keys: Sequence[str],
    names: Sequence[str],
    parent: Callable[[int], int] | None,
    definition: Callable[[int], str] | None = None,
) -> Describe:
    """Return a function that distinguishes labels of the same name by parent and definition.

    Parameters
    ----------
    keys, names : sequence of str, length n_labels
    parent : callable or None
        Function that returns the (primary) parent of a label, -1 for a root; None if there are no parents.
    definition : callable, optional
        Function that returns the definition of a label, which may be empty.

    Examples
    --------
    >>> describe = describe_labels(["n0", "n1"], ["bird", "crane"], [-1, 0].__getitem__, lambda i: "wades")
    >>> describe(1), describe(0)
    ("below 'n0' (bird): wades", 'a root: wades')
    """

    def describe(i: int) -> str:
        place = ""
        if parent is not None:
            above = int(parent(i))
            place = f"below {key_and_name(above, keys, names)}" if above >= 0 else "a root"
        meaning = "" if definition is None else shorten(definition(i), _LONGEST_DEFINITION, placeholder=" …")
        return f"{place}: {meaning}" if place and meaning else place or meaning

    return describe


def describe_points(bundle: Bundle) -> Describe | None:
    """Return a function that describes a label of a bundle by its parent.

    If the bundle is not a tree, None is returned instead, because only a tree contains parents.
    """
    parent = bundle.parent
    return None if parent is None else describe_labels(bundle.points, bundle.names, parent.__getitem__)


def describe_observed(bundle: Bundle) -> Describe | None:
    """Return a function that describes an observed label by its parent.

    The function takes the index of the label among the observed labels of the bundle. If the bundle is not a
    tree, None is returned instead of a function, because only a tree contains parents.
    """
    describe = describe_points(bundle)
    return None if describe is None else lambda i: describe(int(bundle.observed[i]))


def describe_unobserved(bundle: Bundle, by: By) -> Elsewhere:
    """Return a function for error messages about texts that mean no observed label of the bundle.

    If a text means another label of the bundle, the function says so; otherwise it returns an empty text.
    """
    known: LabelNames | None = None

    def elsewhere(text: str) -> str:
        nonlocal known
        if known is None:  # made only for an error: a bundle may hold many labels
            known = LabelNames(bundle.points, bundle.names, by)
        labels = known.meant(text)
        if not labels:
            return ""
        of = bundle.ontology or "the ontology"
        what = f"is a label of {of}"
        if bundle.points[labels[0]] != text:
            what = f"is the name of a label of {of}, {bundle.points[labels[0]]!r},"
        return f"{what} that the bundle does not observe; build another bundle with it"

    return elsewhere


def describe_names(keys: Sequence[str], names: Sequence[str]) -> Elsewhere:
    """Return a function for error messages about texts that are not keys.

    If a text is the name of labels, the function says which keys they have; otherwise it returns an empty
    text.
    """
    known: LabelNames | None = None

    def elsewhere(text: str) -> str:
        nonlocal known
        if known is None:  # made only for an error: there may be many labels
            known = LabelNames(keys, names, "name")
        found = [keys[i] for i in known.meant(text)]
        return is_name_of(found) if found else ""

    return elsewhere


def describe_graph(graph: LabelGraph, definition: Callable[[int], str] | None = None) -> Describe:
    """Return a function that describes a label of a graph by its parent and, if given, its definition."""
    parent = (lambda i: int(graph.primary_parent[i])) if graph.directed else None
    return describe_labels(graph.keys, graph.names, parent, definition)


def _fold(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split())


def key_and_name(i: int, keys: Sequence[str], names: Sequence[str] | None) -> str:
    """Return a label as messages show it: its key, and its name if the name differs from the key."""
    key = keys[i]
    return f"{key!r} ({names[i]})" if names is not None and names[i] != key else repr(key)


def listed_faults(what: str, known: LabelNames, by: str, faults: Sequence[tuple[str, str]]) -> str:
    """Return one message about texts that do not mean exactly one label.

    Each of these texts means no label, or several labels. `what` is the argument or file that contains the
    texts. `faults` contains, for each of them, a pair: the place where it occurs, such as ``row 3``, and the
    text. No text occurs twice. The message lists the first five pairs.
    """
    lines = [f"  {place} {known.fault(text)}" for place, text in faults[:_LISTED]]
    more = [f"  and {len(faults) - _LISTED:,} more"] if len(faults) > _LISTED else []
    head = f"{what}: {counted(len(faults), 'label')} cannot be found (by {by}):"
    return "\n".join([head, *lines, *more])


def header_hint(text: str) -> str:
    """Return advice for a file in which only the first line is not a label.

    >>> header_hint("class")
    "if 'class' is a header, delete the line"
    """
    return f"if {text!r} is a header, delete the line"


def look_like_numbers(texts: Iterable[str], n: int, *, first: int = 0) -> bool:
    """Return whether every text is a number from `first` to `n` - 1, like an index of classes or columns.

    >>> look_like_numbers(["0", "2"], 3), look_like_numbers(["0", "3"], 3), look_like_numbers(["oak"], 3)
    (True, False, False)
    >>> look_like_numbers(["-1", "2"], 3), look_like_numbers(["-1", "2"], 3, first=-1)
    (False, True)
    """
    numbers = {str(i) for i in range(first, n)}
    return all(text in numbers for text in texts)
