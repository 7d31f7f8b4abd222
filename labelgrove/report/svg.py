"""Build the elements of a page and its pictures, with scales and ticks; text is escaped on writing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from labelgrove.adapter.texttable import shown

__all__ = ["Drawing", "Element", "Scale", "clean", "element", "points", "series_class", "short"]

Element = ElementTree.Element

_NOT_IN_HTML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SERIES = {"argmax": 1, "frechet mean": 0, "constant": 2, "observed only": 3, "crm": 4, "oracle": 5}
_SAME = {
    "nearest observed": "oracle",
    "nearest observed (oracle)": "oracle",
    "fréchet mean": "frechet mean",
    "fréchet mean, calibrated": "frechet mean",
    "active": "frechet mean",
}
_N_SERIES = 7


def clean(text: object) -> str:
    """Return text with U+FFFD in place of each character that a page may not contain."""
    return _NOT_IN_HTML.sub("\ufffd", str(text))


def element(tag: str, *content: Element | str | None, **attributes: object) -> Element:
    """Return an element with `content` and `attributes`.

    A string in `content` becomes text. Content and attributes that are None are left out. In the name of an
    attribute, ``_`` becomes ``-``, except at the end, where it is dropped.

    >>> ElementTree.tostring(element("p", "a < b", element("b", "&"), class_="x")).decode()
    '<p class="x">a &lt; b<b>&amp;</b></p>'
    """
    made = Element(
        tag,
        {
            name.rstrip("_").replace("_", "-"): _number(v) if isinstance(v, float) else clean(v)
            for name, v in attributes.items()
            if v is not None
        },
    )
    for part in content:
        if part is None:
            continue
        if not isinstance(part, str):
            made.append(part)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + clean(part)
        else:
            made.text = (made.text or "") + clean(part)
    return made


def points(places: Iterable[tuple[float, float]]) -> str:
    """Return (x, y) places as text for the attribute ``points`` of a polygon or line."""
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in places)


def short(text: str, most: int) -> str:
    """Return text, cut to at most `most` characters.

    >>> short("a long name", 6)
    'a lon…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def series_class(name: str, names: Sequence[str]) -> str:
    """Return the CSS class for the color of the series `name`; `names` lists all series of the picture.

    A decision rule, such as argmax, has the same color in every picture.

    >>> series_class("argmax", ["Fréchet mean", "argmax"]), series_class("K = 5", ["K = 3", "K = 5"])
    ('s1', 's1')
    """
    known = {n: _SERIES.get(_SAME.get(_plain(n), _plain(n))) for n in names}
    free = [i for i in range(_N_SERIES) if i not in known.values()] or [0]
    others = [n for n in names if known[n] is None]
    own = known[name]
    return f"s{own if own is not None else free[others.index(name) % len(free)]}"


def _plain(name: str) -> str:
    return name.lower().replace("_", " ")


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Scale:
    """A map from values to places along one axis.

    Attributes
    ----------
    low, high : float
        The values at the two ends.
    start, stop : float
        The places of `low` and `high`.
    log : bool
        Whether the scale is logarithmic.
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, stop: float, *, log: bool = False, zero: bool = False
    ) -> Scale:
        """Return a scale over all values, with a margin.

        If `zero` is set and no value is negative, the scale begins at zero, unless it is logarithmic.
        """
        held = [v for v in values if not log or v > 0]
        low, high = (min(held), max(held)) if held else (1.0, 1.0)
        if log:
            return cls(low / 1.1, high * 1.1, start, stop, log=True)
        if zero and low >= 0:
            return cls(0.0, high * 1.06 or 1.0, start, stop)
        air = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
        return cls(low - air, high + air, start, stop)

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values within the scale for its ticks, at most `most` + 1 of them."""
        if self.log:
            return self._log_ticks(most)
        rough = (self.high - self.low) / most
        step = 10.0 ** math.floor(math.log10(rough))
        step *= next(times for times in (1, 2, 5, 10) if times * step >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]

    def _log_ticks(self, most: int) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for times in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1, 3), (1,)):
            found = [m * 10.0**d for d in decades for m in times if self.low <= m * 10.0**d <= self.high]
            if len(found) <= most + 1:
                return found
        return found[:: math.ceil(len(found) / most)]


class Drawing:
    """One picture, with its axes and a legend.

    Parameters
    ----------
    width, height : float
        The size of the view box, usually 400 wide; text is 13 units high, so it is readable on a telephone.

    Attributes
    ----------
    root : Element
        The ``svg`` element.
    legend : list of (class, text, sign)
        For each line of the legend: its CSS class, the text that explains the sign, and the sign.
    """

    def __init__(self, width: float, height: float) -> None:
        self.root = element(
            "svg", viewBox=f"0 0 {_number(width)} {_number(height)}", role="img", focusable="false"
        )
        self.width = width
        self.legend: list[tuple[str, str, Element]] = []

    def add(self, tag: str, *content: Element | str | None, **attributes: object) -> Element:
        """Add an element and return it."""
        made = element(tag, *content, **attributes)
        self.root.append(made)
        return made

    def text(
        self, x: float, y: float, said: str, *, anchor: str = "start", class_: str | None = None
    ) -> None:
        """Write a text; `y` is its baseline."""
        self.add("text", said, x=x, y=y, text_anchor=anchor, class_=class_)

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        """Draw a straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def below(self, x: Scale, rows: Iterable[tuple[float, float]], bottom: float, label: str) -> None:
        """Draw the x-axis below the rows of a picture, with a grid and a line at zero.

        The grid and the zero line are drawn only inside the rows, so that they do not cross the names above
        the rows. `rows` has for each row the y of its top and the y of its bottom.
        """
        strips = list(rows)
        for value in x.ticks(6):
            for top, end in strips:
                self.line(x(value), top, x(value), end, "grid")
            self.text(x(value), bottom + 16, shown(value), anchor="middle", class_="tick")
        for top, end in strips:
            self.line(x(0), top, x(0), end, "zero")
        self.text(x.stop, bottom + 35, label, anchor="end", class_="label")

    def explain(self, class_: str, said: str, sign: Element) -> None:
        """Add a line to the legend: a sign of 26 by 14 units, and the text that explains it."""
        self.legend.append((class_, said, sign))

    def axes(self, x: Scale, y: Scale, x_label: str, y_label: str, *, x_ticks: int = 6) -> None:
        """Draw both axes with ticks, labels and a grid, which later elements cover."""
        left, right, top, bottom = x.start, x.stop, y.stop, y.start
        for value in y.ticks(5):
            self.line(left, y(value), right, y(value), "grid")
            self.text(left - 5, y(value) + 4, shown(value), anchor="end", class_="tick")
        for value in x.ticks(x_ticks):
            self.line(x(value), bottom, x(value), bottom + 4, "axis")
            self.text(x(value), bottom + 17, shown(value), anchor="middle", class_="tick")
        self.line(left, bottom, right, bottom, "axis")
        self.text(0, top - 10, y_label, class_="over label")
        self.text(right, bottom + 34, x_label, anchor="end", class_="label")
