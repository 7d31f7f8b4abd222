"""Follow keys to what they stand for: replaced keys to their ends, and labels to their kept ancestors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

__all__ = ["chain_ends", "kept_ancestors"]


def chain_ends(after: Mapping[str, str]) -> dict[str, str | None]:
    """Return, for each key of `after`, the end of the chain that it begins; None if the chain has no end.

    A chain goes on from a key to its value, as long as the value is a key too. It has no end if it leads into
    a loop.

    Notes
    -----
    O(n), however long the chains are.

    Examples
    --------
    >>> chain_ends({"a": "b", "b": "c", "x": "y", "y": "x"})
    {'a': 'c', 'b': 'c', 'x': None, 'y': None}
    """
    ends: dict[str, str | None] = {}
    for start in after:
        key, passed = start, []
        while key in after and key not in ends:
            ends[key] = None  # until the end is known: a chain that comes back to here is a loop
            passed.append(key)
            key = after[key]
        end = ends[key] if key in after else key
        ends.update(dict.fromkeys(passed, end))
    return ends


def kept_ancestors(left_out: Mapping[str, Sequence[str]]) -> Callable[[str], list[str]]:
    """Return a function that returns the nearest ancestors of a key that are not in `left_out`, sorted.

    `left_out` contains the parents of each key that is left out. The key itself is its own nearest ancestor
    if it is not left out.

    Notes
    -----
    O(1) for a key above which every key that is left out has one parent. Otherwise, all keys above it that
    have several parents are visited once.

    Examples
    --------
    >>> above = kept_ancestors({"genus": ["family"], "family": ["order", "clade"], "clade": ["class"]})
    >>> above("genus"), above("order")
    (['class', 'order'], ['order'])
    """
    ends = chain_ends({key: parents[0] for key, parents in left_out.items() if len(parents) == 1})
    found: dict[str, list[str]] = {}

    def searched(top: str) -> list[str]:
        kept: set[str] = set()
        waiting, seen = [top], {top}
        while waiting:
            for parent in left_out[waiting.pop()]:
                end = ends.get(parent, parent)
                if end is None or end in seen:
                    continue
                if end in left_out:
                    seen.add(end)
                    waiting.append(end)
                else:
                    kept.add(end)
        return sorted(kept)

    def ancestors(key: str) -> list[str]:
        top = ends.get(key, key)
        if top is None:
            return []
        if top not in left_out:
            return [top]
        if top not in found:
            found[top] = searched(top)
        return found[top]

    return ancestors
