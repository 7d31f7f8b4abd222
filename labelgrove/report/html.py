"""Write a report as one HTML page that needs no script, no network, no font and no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

from labelgrove.adapter.texttable import Span, Table, shown
from labelgrove.report.content import Block, Folded, Judged, Link, Notes, Origin, Report, mostly_numbers
from labelgrove.report.picturedata import Picture
from labelgrove.report.pictures import draw
from labelgrove.report.svg import Element, clean, element

__all__ = ["to_html"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The content security policy of the page: the browser runs and loads nothing, even if escaping fails."""

_SIGNS = {"good": "✓", "mixed": "◐", "bad": "✕", "open": "?"}


def to_html(report: Report) -> str:
    """Return a report as an HTML page.

    Every name and text is escaped, and characters that HTML does not allow become U+FFFD. Equal reports give
    equal text.
    """
    style = files("labelgrove.report").joinpath("page.css").read_text(encoding="utf-8")
    page = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", report.heading),
            element("style", style),
        ),
        element("body", element("main", *_Page().parts(report))),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{ElementTree.tostring(page, encoding='unicode', method='html')}\n"


class _Page:
    """Builds the parts of one page, and numbers the pictures in order."""

    def __init__(self) -> None:
        self._n_pictures = 0

    def parts(self, report: Report) -> Iterator[Element]:
        """Yield the verdict, the sections and the origin."""
        yield element(
            "header",
            element("p", report.title, class_="title"),
            element(
                "div",
                element("span", _SIGNS[report.tone], class_="sign", aria_hidden="true"),
                element(
                    "div",
                    element("h1", report.answer),
                    element("p", report.sentence),
                    element("p", report.price, class_="price") if report.price else None,
                ),
                class_=f"verdict {report.tone}",
            ),
            *_lead(report.lead),
            _facts(report.facts) if report.facts else None,
        )
        for section in report.sections:
            yield element(
                "section", element("h2", section.title), *(self._block(block) for block in section.blocks)
            )
        if report.origin is not None:
            yield _origin(report.origin)

    def _block(self, block: Block) -> Element:
        if isinstance(block, str):
            return element("p", block)
        if isinstance(block, Table):
            return element("div", element("h3", block.title), _table(block), class_="block")
        if isinstance(block, Folded):
            return element("details", element("summary", block.table.title), _table(block.table))
        if isinstance(block, Notes):
            return element("ul", *(element("li", line) for line in block.lines), class_="notes")
        return element("div", *map(self._figure, block.shown), class_="pictures")

    def _figure(self, picture: Picture) -> Element:
        self._n_pictures += 1
        drawing, name = draw(picture), f"picture-{self._n_pictures}"
        drawing.root.set("aria-labelledby", f"{name}-title")
        drawing.root.set("aria-describedby", f"{name}-text")
        drawing.root.insert(0, element("title", picture.title, id=f"{name}-title"))
        drawing.root.insert(1, element("desc", picture.alternative, id=f"{name}-text"))
        keys = (
            element(
                "li",
                element(
                    "svg", element("g", sign, class_=f"dot {class_}"), viewBox="0 0 26 14", aria_hidden="true"
                ),
                said,
            )
            for class_, said, sign in drawing.legend
        )
        return element(
            "figure",
            element("figcaption", picture.title),
            drawing.root,
            element("ul", *keys, class_="legend") if drawing.legend else None,
        )


def _lead(lead: Mapping[str, str]) -> Iterator[Element]:
    for name, said in lead.items():
        yield element("p", element("b", f"{name} "), said, class_="lead")


def _facts(facts: Mapping[str, Any]) -> Element:
    pairs = (
        element("div", element("dt", name), element("dd", *_cell(value))) for name, value in facts.items()
    )
    return element("dl", *pairs, class_="facts")


def _origin(origin: Origin) -> Element:
    commands: list[Element] = [element("pre", element("code", origin.command), tabindex=0)]
    for said, command in origin.others.items():
        commands += [element("p", said), element("pre", element("code", command), tabindex=0)]
    pairs: list[Element] = []
    for name, value in origin.facts.items():
        pairs += [element("dt", name), element("dd", *_cell(value))]
    return element(
        "section",
        element("h2", "Where this comes from"),
        *commands,
        element("dl", *pairs, class_="origin"),
        class_="source",
    )


def _table(table: Table) -> Element:
    classes = [
        "number" if mostly_numbers(row[i] for row in table.rows) else None for i in range(len(table.columns))
    ]
    head = (
        element("th", name, scope="col", class_=c) for name, c in zip(table.columns, classes, strict=True)
    )
    rows = (
        element(
            "tr",
            element("th", *_cell(row[0]), scope="row", class_=classes[0]),
            *(
                element("td", *_cell(v), class_=f"{c or ''} list" if _is_list(v) else c)
                for v, c in zip(row[1:], classes[1:], strict=True)
            ),
        )
        for row in table.rows
    )
    made = element(
        "table",
        element("caption", table.title),
        element("thead", element("tr", *head)),
        element("tbody", *rows),
    )
    return _box(made, table.title)


def _box(content: Element, title: str) -> Element:
    """Return a box that scrolls, by keyboard too, if its content is wider than the page."""
    return element("div", content, class_="scroll", role="region", aria_label=title, tabindex=0)


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list | tuple) and not isinstance(cell, Span)


def _cell(cell: Any) -> Iterable[Element | str]:
    """Return the content of a cell; a number is rounded, and its attribute ``value`` has all digits."""
    if isinstance(cell, Link):
        return [element("a", cell.text, href=cell.address)]
    if isinstance(cell, Judged):
        return [element("span", f"{_SIGNS[cell.tone]} {cell.text}", class_=f"chip {cell.tone}")]
    if isinstance(cell, Span):
        return [*_cell(cell.low), " to ", *_cell(cell.high)]
    if isinstance(cell, list | tuple):
        parts: list[Element | str] = []
        for i, one in enumerate(cell):
            parts += [", "] if i else []
            parts += _cell(one)
        return parts
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return [element("data", shown(cell), value=repr(cell))]
    return [clean(shown(cell))]
