"""The tree around one label as rows that a page nests without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labelgrove.ontology.browse.answers import Answers

__all__ = ["nested_rows"]

_MOST = 40


def nested_rows(answers: Answers, label: int) -> list[dict[str, Any]]:
    """Return the rows of the tree in which `label` and all labels above it are opened.

    Each row is a document of `Answers.row` with ``level``, ``opened`` and ``hand`` (whether it is `label`),
    or has only ``level``, ``left_out``, a number of labels, and ``above``, the row of their parent or None.
    Of many children, those around the way to `label` are listed.
    """
    chain = [int(one) for one in answers.index.order.chain(label)[::-1]]
    return list(_rows(answers, answers.index.walk.roots.tolist(), chain, 0, None))


def _rows(
    answers: Answers, labels: list[int], chain: list[int], level: int, above: dict[str, Any] | None
) -> Iterator[dict[str, Any]]:
    way = chain[0] if chain else -1
    place = labels.index(way) if way in labels else 0
    first = max(0, min(place - _MOST // 2, len(labels) - _MOST))
    if first:
        yield {"level": level, "left_out": first, "above": above}
    for one in labels[first : first + _MOST]:
        item = answers.row(one, level=level, opened=one == way, hand=chain == [one])
        yield item
        if one == way:
            yield from _rows(answers, answers.index.walk.children(one).tolist(), chain[1:], level + 1, item)
    if (rest := len(labels) - first - _MOST) > 0:
        yield {"level": level, "left_out": rest, "above": above}
