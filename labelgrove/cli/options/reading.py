"""The options of `ontology.read`, the same wherever a file is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import files

if TYPE_CHECKING:
    from collections.abc import Callable

    from labelgrove.ontology.readers import ReadResult

__all__ = ["as_reading", "read_source", "reading_options"]


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `ontology.read`, the same wherever a file is read."""
    options = (
        click.option("--format", "format_", metavar="FORMAT", help="Source format; recognized if not given."),
        click.option(
            "--direction",
            type=click.Choice(["parent-child", "child-parent", "undirected"]),
            help="Which column of an edge list comes first.",
        ),
        click.option(
            "--policy",
            "policies",
            multiple=True,
            metavar="DEFECT=POLICY",
            help="What to do about a kind of defect, e.g. roots=virtual or cycle=fix (docs/formats.md).",
        ),
        click.option(
            "--labels", metavar="FILE", shell_complete=files(), help="LSHTC: the file that names the classes."
        ),
        click.option("--part", type=click.Choice(["noun", "verb"]), help="WordNet: which part of speech."),
        click.option("--root", default="root", show_default=True, help="Key of a root that has to be added."),
        click.option(
            "--header/--no-header", default=None, help="Edge lists: whether the first line is a header."
        ),
        click.option(
            "--delimiter",
            type=click.Choice(["space", "tab", "comma", "semicolon"]),
            help="Edge lists: what stands between columns; told if not given.",
        ),
        click.option("--relation", help="Edge lists with a column of that name: whose edges count."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read_source(source: str, **reading: Any) -> ReadResult:
    """Read the file at `source` with what was typed of `reading_options`."""
    from labelgrove.ontology import read

    return read(source, **as_reading(**reading))


def as_reading(*, format_: str | None, policies: tuple[str, ...], **rest: Any) -> dict[str, Any]:
    """Return what was typed as the options of `ontology.read`."""
    from labelgrove.ontology.errors import InputError

    chosen = {}
    for entry in policies:
        code, equals, policy = entry.partition("=")
        if not equals:
            raise InputError(f"--policy {entry!r}: write DEFECT=POLICY, for example roots=virtual")
        chosen[code] = policy
    return {"format": format_, "policies": chosen, **rest}
