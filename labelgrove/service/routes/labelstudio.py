"""A hierarchy as the tag ``Taxonomy`` of Label Studio loads it: one level at a time.

Its frontend shows `value`, and names a label by the path of the `alias` of each level. It splits and joins
such paths itself, and asks for what is below an entry only if `isLeaf` is false.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.ontology.browse.pages import LARGEST_PAGE
from labelgrove.ontology.errors import NotFoundError, UnknownLabelError, counted
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.caching import answer
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.state import VersionOpened

__all__ = ["router"]

router = APIRouter(prefix="/v1/ontologies/{ontology}", tags=["labels"], dependencies=[needs("read")])

_GROUP = re.compile(r"\+([1-9][0-9]{0,8})")

Path = Annotated[
    list[Annotated[str, Query(max_length=LONGEST_QUERY)]],
    Query(description="`alias` of an entry on each level, from a root down; without it, the roots."),
]


@router.get("/label-studio", responses=schemas.ok(schemas.Taxonomy))
def label_studio(request: Request, opened: VersionOpened, path: Path = []) -> Response:  # noqa: B006
    """Return the labels right below a path, as the tag `Taxonomy` of Label Studio loads them.

    Of more than 1,000 labels, the others are in entries for 1,000 each. The `alias` of such an entry, such as
    `+1000`, is the number of labels before it. It is a level of its own in paths.
    """
    above, first = _at(opened, path)
    labels = _below(opened, above)
    groups = [] if first is not None else range(LARGEST_PAGE, len(labels), LARGEST_PAGE)
    begin = first or 0
    items = [_entry(opened, label) for label in labels[begin : begin + LARGEST_PAGE]]
    items += [_group(opened, labels, at) for at in groups]
    return answer(request, opened.head | {"items": items}, opened.tag)


def _at(opened: Opened, path: list[str]) -> tuple[int | None, int | None]:
    """Return the label that a path leads to, None above the roots, and the first place of a group in it."""
    above: int | None = None
    first: int | None = None
    for element in path:
        found = opened.answers.index.graph.keys.find(element)
        if found >= 0 and _is_below(opened, found, above):
            above, first = found, None
        elif first is None and (group := _GROUP.fullmatch(element)):
            first = _checked(opened, above, int(group[1]))
        else:
            raise _astray(opened, element, above)
    return above, first


def _checked(opened: Opened, above: int | None, first: int) -> int:
    n_labels = len(_below(opened, above))
    if first % LARGEST_PAGE or first >= n_labels:
        raise NotFoundError(
            f"path: '+{first}' is not an entry for further labels: this level has "
            f"{counted(n_labels, 'label')}; load it anew"
        )
    return first


def _astray(opened: Opened, key: str, above: int | None) -> UnknownLabelError:
    """Return the error for a key that is not the key of a label below `above`."""
    keys = opened.answers.index.graph.keys
    parents = opened.answers.index.walk.parents(opened.label(key))  # refuses a key that no label has
    place = "a root" if above is None else f"right below {keys[above]!r:.80}"
    where = f"it is below {keys[int(parents[0])]!r:.80}" if len(parents) else "it is a root"
    return UnknownLabelError(
        f"path: label {key!r:.80} is not {place}; {where}: give the keys from a root down, one on each level"
    )


def _is_below(opened: Opened, label: int, above: int | None) -> bool:
    parents = opened.answers.index.walk.parents(label)
    return not len(parents) if above is None else above in parents


def _below(opened: Opened, label: int | None) -> list[int]:
    walk = opened.answers.index.walk
    if label is None:
        return opened.tops(None)
    found: list[int] = walk.children(label).tolist()
    return found


def _entry(opened: Opened, label: int) -> dict[str, Any]:
    item = opened.answers.item(label)
    return {"value": item["name"], "alias": item["key"], "isLeaf": item["leaf"]}


def _group(opened: Opened, labels: list[int], begin: int) -> dict[str, Any]:
    names = opened.answers.index.graph.names
    last = min(begin + LARGEST_PAGE, len(labels))
    between = f"{names[labels[begin]]} … {names[labels[last - 1]]}"
    text = f"{begin + 1:,} to {last:,} of {len(labels):,}: {between}"
    return {"value": text, "alias": f"+{begin}", "isLeaf": False}
