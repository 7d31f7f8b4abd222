"""Make the report of an experiment, and the overview page with links to all experiments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from labelgrove.adapter.texttable import Span, Table
from labelgrove.report.content import Folded, Judged, Link, Notes, Origin, Pictures, Report, Section, Tone
from labelgrove.report.picturedata import Differences, Line, Mark, Panel

__all__ = ["experiment_report", "overview_report"]

_TONES: Mapping[str, Tone] = {
    "holds": "good",
    "holds in part": "mixed",
    "does not hold": "open",
    "reverses": "bad",
    "not testable": "open",
}
_MOST_ROWS = 40
_MOST_COLUMNS, _UNITS_PER_TABLE = 12, 8
_SEEDS_FROM = re.compile(r" --seeds-from \d+")
_READING = (
    "Errors are E[d²], the mean squared distance from the answer to the truth. argmax is the answer of the "
    "model alone, and the Fréchet mean is what the paper calls Loki. A setting counts as better or worse "
    "only if the 95 % interval of the paired differences over its trials excludes zero. A claim holds if all "
    "settings are better. It holds in part if some are better, and reverses if none is better and at least "
    "one is worse, both after a correction for the number of settings (Holm). It does not hold if the trials "
    "do not decide. A setting is not testable if argmax, the Fréchet mean and one constant give the same "
    "answer to every sample, so that the rules cannot be told apart."
)
_CORPUS = (
    "Where there is a corpus, the trials of a setting share it, and each draws labels, samples and splits: "
    "an interval tells what other draws would give, not what another corpus would give."
)
_QUICK = "{n} of {of} ran with --quick: its few trials often cannot tell, so only verdicts without it count."
_SEVERAL = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "reverses": "reverse",
    "not testable": "not testable",
}


def experiment_report(document: Mapping[str, Any]) -> Report:
    """Return the report of an experiment; `document` is the content of its ``result.json``."""
    first, *others = document["findings"]
    sections = [
        Section("What was found", tuple(_findings(document, others))),
        Section("Setting by setting", tuple(_contrasts(document["findings"]))),
        Section("Figures behind it", tuple(_figures(document))),
    ]
    return Report(
        title=document["experiment"],
        answer=document["verdict"],
        tone=_TONES[first["verdict"]],
        sentence=f"{first['because']}.",
        lead={"Claim": f"{document['claim']} ({document['source']})", "Data": document["inputs"]},
        sections=tuple(section for section in sections if section.blocks),
        origin=_origin(document),
        document=document,
    )


def overview_report(
    documents: Sequence[Mapping[str, Any]],
    seconds: Sequence[float],
    address: Callable[[Mapping[str, Any]], str],
) -> Report:
    """Return the page with the verdicts of several experiments.

    Parameters
    ----------
    documents : sequence of mapping
        The content of the ``result.json`` of each experiment.
    seconds : sequence of float
        The wall-clock seconds that the units of each experiment took.
    address : callable
        Turns a document into the address of its page.
    """
    held = [d["verdict"] for d in documents]
    counted = {verdict: held.count(verdict) for verdict in _TONES if verdict in held}
    checked = sum(d["rows_where_argmax_was_verified"] for d in documents)
    quick = sum("--quick" in d["command"].split() for d in documents)
    rows = [
        (Link(d["experiment"], address(d)), d["claim"], _judged(d["verdict"]), s)
        for d, s in zip(documents, seconds, strict=True)
    ]
    return Report(
        title="What the paper claims, and what we find",
        answer=", ".join(f"{n} {v if n == 1 else _SEVERAL[v]}" for v, n in counted.items()),
        tone="good" if set(held) == {"holds"} else "mixed" if "holds" in held else "bad",
        sentence=(
            f"Claims tested: {len(held)}. On the complete graph the Fréchet mean was argmax on all "
            f"{checked:,} rows of predictions; a single different row would have stopped the run."
        ),
        sections=(
            Section(
                "Claim by claim",
                (
                    _READING,
                    _CORPUS,
                    Table("Verdicts", ("experiment", "claim", "verdict", "seconds"), tuple(rows)),
                    f"All units together took {sum(seconds):,.0f} seconds of wall-clock time. Written by "
                    f"grove experiment all{_other_seeds(documents)}, which anyone can repeat.",
                    *((_QUICK.format(n=quick, of=len(held)),) if quick else ()),
                ),
            ),
        ),
        origin=None,
        document=list(documents),
    )


def _other_seeds(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the option ``--seeds-from``, with its value, if the commands of all documents have the same one.

    Otherwise, return an empty text. Each document contains the command that makes it.
    """
    found = {_SEEDS_FROM.search(d["command"]) for d in documents}
    options = {"" if one is None else one[0] for one in found}
    return options.pop() if len(options) == 1 else ""


def _findings(
    document: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> Iterator[Table | Pictures | Notes]:
    if others:
        rows = tuple((f["claim"], _judged(f["verdict"]), f["because"]) for f in others)
        yield Table("Related findings", ("finding", "verdict", "because"), rows)
    if document["panels"]:
        yield Pictures(tuple(_panel(panel) for panel in document["panels"]))
    for table in document["tables"]:
        yield Table(table["title"], tuple(table["columns"]), tuple(map(tuple, table["rows"])))
    if document["notes"]:
        yield Notes(tuple(document["notes"]))


def _judged(verdict: str) -> Judged:
    return Judged(verdict, _TONES[verdict])


def _panel(panel: Mapping[str, Any]) -> Panel:
    lines = tuple(
        Line(line["name"], *(tuple(line[axis]) for axis in ("x", "y", "low", "high")))
        for line in panel["lines"]
    )
    marks = tuple(Mark(mark["name"], mark["x"]) for mark in panel.get("marks", ()))
    named = {name: panel[name] for name in ("title", "x_label", "y_label", "log_x", "log_y")}
    return Panel(lines=lines, marks=marks, **named)


def _contrasts(findings: Sequence[Mapping[str, Any]]) -> Iterator[Pictures | Folded]:
    told = [finding for finding in findings if finding["contrasts"]]
    pictures = [
        Differences(
            finding["claim"],
            "share of the error that is saved, %",
            "saves",
            "costs",
            tuple(_relative(contrast) for contrast in finding["contrasts"]),
        )
        for finding in told
        if len(finding["contrasts"]) <= _MOST_ROWS
    ]
    if pictures:
        yield Pictures(tuple(pictures))
    columns = (
        "setting",
        "error before",
        "error after",
        "saved",
        "95 % interval",
        "± half its width",
        "share saved",
        "trials won",
        "trials",
        "p",
        "p, corrected for all settings",
    )
    for finding in told:
        rows = tuple(
            (
                c["setting"],
                c["before"],
                c["after"],
                c["difference"],
                None
                if c["half_width"] is None
                else Span(c["difference"] - c["half_width"], c["difference"] + c["half_width"]),
                c["half_width"],
                c["relative"],
                c["wins"],
                c["trials"],
                c["p_value"],
                c["corrected_p"] if c["testable"] else "not testable",
            )
            for c in finding["contrasts"]
        )
        yield Folded(Table(finding["claim"], columns, rows))


def _relative(contrast: Mapping[str, Any]) -> tuple[str, float, float | None, float | None]:
    """Return a row for the picture of the relative differences of a contrast.

    The row contains the setting, and the percentage by which the error of the second rule is smaller
    than that of the first. Then it contains the two ends of the interval of this percentage, or None twice if
    there is no interval.
    """
    middle, width, before = 100 * contrast["relative"], contrast["half_width"], contrast["before"]
    if width is None or before == 0:
        return contrast["setting"], middle, None, None
    half = 100 * width / before
    return contrast["setting"], middle, middle - half, middle + half


def _figures(document: Mapping[str, Any]) -> Iterator[Folded]:
    for panel in document["panels"]:
        rows = [
            (line["name"], *values)
            for line in panel["lines"]
            for values in zip(line["x"], line["y"], line["low"], line["high"], strict=True)
        ]
        rows += [(mark["name"], mark["x"], None, None, None) for mark in panel.get("marks", ())]
        title = f"{panel['title']}: {panel['y_label']} over {panel['x_label']}"
        yield Folded(Table(title, ("curve", panel["x_label"], "mean", "least", "largest"), tuple(rows)))
    units = [
        {**unit["parameters"], **dict(_flat(unit["result"]))} for unit in document["units"]
    ]  # a figure that a unit lacks is shown as a dash
    names = tuple(dict.fromkeys(name for unit in units for name in unit))
    title = "Every unit that was computed"
    if len(names) <= _MOST_COLUMNS:
        yield Folded(Table(title, names, tuple(tuple(unit.get(name) for name in names) for unit in units)))
        return
    for start in range(0, len(units), _UNITS_PER_TABLE):
        part = units[start : start + _UNITS_PER_TABLE]
        columns = ("figure", *(f"unit {start + i}" for i in range(1, len(part) + 1)))
        part_rows = tuple((name, *(unit.get(name) for unit in part)) for name in names)
        yield Folded(
            Table(f"{title}, {start + 1} to {start + len(part)} of {len(units)}", columns, part_rows)
        )


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the figures in a nested result, each with the path to it, as ``rules / argmax / squared``."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name} / ")
        else:
            yield f"{above}{name}", value


def _origin(document: Mapping[str, Any]) -> Origin:
    facts: dict[str, Any] = {f"setting {name}": value for name, value in document["settings"].items()}
    facts["rows on which argmax was verified"] = document["rows_where_argmax_was_verified"]
    facts |= {
        f"file {name}" if len(v) < 64 else f"sha256 of {name}": v for name, v in document["files"].items()
    }
    facts |= {"version of the experiment": document["version"], "identity": document["identity"]}
    facts |= {f"sha256 of {name}": digest for name, digest in document["data"].items()}
    facts |= document["libraries"]
    caption = "The paper's own table needs inputs that are not public. With your own files:"
    others = {caption: document["own_files_command"]} if document["own_files_command"] else {}
    return Origin(document["command"], facts, others)
