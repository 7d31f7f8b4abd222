"""A result as Markdown, and the page that all results of a folder make together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ontology.errors import InputError, NotFoundError

__all__ = ["markdown", "page", "read_result", "seconds_of"]

_NO_VALUE = "–"


def markdown(document: Mapping[str, Any], *, level: int = 1) -> str:
    """Return a result as Markdown.

    Parameters
    ----------
    document : mapping
        What ``result.json`` holds.
    level : int, default=1
        Of its heading.
    """
    first, *others = document["findings"]
    blocks = [
        f"{'#' * level} {document['experiment']}: {document['verdict']}",
        f"**Claim.** {document['claim']} *({document['source']})*",
        f"**Verdict: {first['verdict']}.** {first['because']}.",
    ]
    if others:
        blocks.append("\n".join(f"- {f['claim']}: **{f['verdict']}**. {f['because']}." for f in others))
    for table in document["tables"]:
        blocks.append(f"{table['title']}\n\n{_table(table['columns'], table['rows'])}")
    blocks += [f"> {note}" for note in document["notes"]]
    blocks.append(f"{_origin(document)}")
    if document["own_files_command"]:
        blocks.append(
            "The paper's own table needs inputs that are not public here; with your files:\n\n"
            f"```sh\n{document['own_files_command']}\n```"
        )
    return "\n\n".join(blocks) + "\n"


def page(folder: Path, names: Sequence[str]) -> str:
    """Return one page with the results that a folder holds.

    Parameters
    ----------
    folder : Path
        What ``grove experiment`` wrote.
    names : sequence of str
        Experiments in the order of the page; those without a result are left out.

    Raises
    ------
    NotFoundError
        For a folder without any result.
    InputError
        For a result file that cannot be read.
    """
    held = [name for name in names if (folder / name / "result.json").is_file()]
    if not held:
        raise NotFoundError(f"{folder}: holds no result; run: grove experiment all --out {folder}")
    documents = [read_result(folder / name / "result.json") for name in held]
    seconds = [seconds_of(folder / name) for name in held]
    rows = [
        (f"[{d['experiment']}](#{_anchor(d)})", d["claim"], f"**{d['verdict']}**", s)
        for d, s in zip(documents, seconds, strict=True)
    ]
    checked = sum(d["rows_where_argmax_was_verified"] for d in documents)
    head = (
        "# What the paper claims, and what we find\n\n"
        "Written by `grove experiment all`, which anyone can repeat. Errors are E[d²], the mean squared "
        "distance from the answer to the truth; *argmax* is the model alone, *Loki* the Fréchet mean. A "
        "setting counts as better or worse only where the 95 % interval of the paired differences over its "
        "trials leaves out zero: a claim *holds* where all settings are better, *holds in part* where some "
        "are, *reverses* where none is and at least one is worse, and *does not hold* where nothing can be "
        "told.\n\n"
        f"On the complete graph the Fréchet mean was argmax on all {checked:,} rows of predictions below; a "
        "single row that differed would have stopped the run.\n"
    )
    summary = _table(("experiment", "claim", "verdict", "seconds"), rows)
    total = f"All units together took {sum(seconds):,.0f} seconds of wall-clock time."
    return "\n".join([head, summary, "", total, "", *(markdown(d, level=2) for d in documents)])


def read_result(path: Path) -> dict[str, Any]:
    """Return what a ``result.json`` holds."""
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no result of an experiment ({error}); run it again") from error
    return document


def seconds_of(home: Path) -> float:
    """Return the seconds that the units of the result in `home` took."""
    identity = read_result(home / "result.json")["identity"]
    units = (home / "units" / identity[:16]).glob("*.json")
    return round(sum(float(json.loads(path.read_bytes())["seconds"]) for path in units), 1)


def _origin(document: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{k} {_plain(v)}" for k, v in document["settings"].items())
    libraries = ", ".join(f"{k} {v}" for k, v in document["libraries"].items())
    files = "".join(f"; {k} sha256 {v[:16]}" for k, v in document["files"].items())
    return (
        f"`{document['command']}` on {document['inputs']}{files}. Settings: {settings}. "
        f"Argmax was verified on {document['rows_where_argmax_was_verified']:,} rows. "
        f"Python {document['python']}, {libraries}; identity `{document['identity'][:16]}`."
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [[str(c) for c in columns], ["---"] * len(columns), *([_cell(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return _NO_VALUE
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _plain(value: Any) -> str:
    return "/".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def _anchor(document: Mapping[str, Any]) -> str:
    return f"{document['experiment']}-{document['verdict'].replace(' ', '-')}"
