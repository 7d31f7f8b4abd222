"""Settle parents that are former ids of labels or obsolete, for all formats that record such ids.

A source may replace a key by another one. Its old key is then a former id of a label (the note
``alternative_id``), or an obsolete record, often with the key that replaces it (the note ``replaced_by``).
"""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.ontology.readers.chains import chain_ends
from labelgrove.ontology.readers.collect import Collector

__all__ = ["settle_former_ids"]


def settle_former_ids(into: Collector) -> None:
    """Replace parents that are former ids or obsolete, as the policies say, and report them.

    Call this after all records of the source were read, and before `Collector.report_undescribed`. Former ids
    that mean several labels, replacements that no record describes, and loops of replacements are reported as
    well.

    Notes
    -----
    An obsolete label with a parent of its own has a place in the hierarchy: labels may stay below it.
    """
    current = _current_labels(into)
    replaced = _replacements(into)
    _report_loops(into, replaced)
    if not current and not into.annotations.deprecated:
        return
    retired = (into.annotations.deprecated & into.labels.keys()) - into.children()
    ends = _ends(retired, replaced, current, into)
    keys = list(into.numbers)
    keeps = into.recorder.policy("obsolete-parent") == "warn"
    for i, number in enumerate(into.parent):
        key = keys[number]
        if key in retired:
            end = ends.get(key)
            says = f"; {end} replaces it" if end else "; nothing else replaces it"
            into.defect("obsolete-parent", into.line[i], f"{keys[into.child[i]]} under {key}{says}")
            if end and not keeps:
                into.parent[i] = into.numbers[end]
        elif key in current and key not in into.labels:
            into.defect(
                "former-id-parent", into.line[i], f"{keys[into.child[i]]} under {key}, now {current[key]}"
            )
            into.parent[i] = into.numbers[current[key]]


def _current_labels(into: Collector) -> dict[str, str]:
    """Return the label that each former id means, if it means exactly one; report the others."""
    current: dict[str, str] = {}
    several = set()
    deprecated = into.annotations.deprecated
    for key, former in sorted(into.annotations.notes("alternative_id")):
        line = into.labels.get(key, 0)
        if former in into.labels and former not in deprecated:
            into.defect("ambiguous-former-id", line, f"{former}, of {key}, is also a label")
            continue
        other = current.setdefault(former, key)
        if other != key:
            into.defect("ambiguous-former-id", line, f"{former} of {key} and {other}")
            several.add(former)
    return {former: key for former, key in current.items() if former not in several}


def _replacements(into: Collector) -> dict[str, str]:
    """Return the key that replaces each key, if it is exactly one; report keys that no record describes."""
    known = into.labels.keys() | {former for _, former in into.annotations.notes("alternative_id")}
    by: dict[str, set[str]] = {}
    for kind in ("replaced_by", "consider"):
        for key, other in into.annotations.notes(kind):
            if kind == "replaced_by":
                by.setdefault(key, set()).add(other)
            if other not in known:
                into.defect("unknown-replacement", into.labels.get(key, 0), f"{other}, in place of {key}")
    return {key: others.pop() for key, others in by.items() if len(others) == 1}


def _report_loops(into: Collector, replaced: Mapping[str, str]) -> None:
    """Report each loop of keys that replace one another, at its smallest key."""
    seen: set[str] = set()
    for start in sorted(replaced):
        path: dict[str, None] = {}
        key: str | None = start
        while key is not None and key not in seen:
            seen.add(key)
            path[key] = None
            key = replaced.get(key)
        if key in path:
            walk = list(path)
            loop = walk[walk.index(key) :]
            into.defect("replacement-loop", into.labels.get(min(loop), 0), " > ".join([*loop[:8], key]))


def _ends(
    retired: set[str], replaced: Mapping[str, str], current: Mapping[str, str], into: Collector
) -> dict[str, str]:
    """Return the label at the end of the chain of replacements of each obsolete key that leads to one."""
    after = {}
    for key in retired:
        other = replaced.get(key) or current.get(key)
        if other is not None:
            after[key] = current.get(other, other)
    living = into.labels.keys() - retired
    return {key: end for key, end in chain_ends(after).items() if end is not None and end in living}
