"""Provide the options of `ontology.read` for all commands that read a hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import files
from labelgrove.cli.options.groups import option_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from labelgrove.ontology.readers import ReadResult

__all__ = ["as_reading", "read_source", "reading_options"]


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `ontology.read` to a command."""
    return _options(command)


_options = option_group(
    click.option(
        "--format",
        "format_",
        metavar="FORMAT",
        help="Format of the source. By default, it is recognized from the source.",
    ),
    click.option(
        "--direction",
        type=click.Choice(["parent-child", "child-parent", "undirected"]),
        help="Edge lists: the order of the two columns of an edge.",
    ),
    click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="DEFECT=POLICY",
        help="What to do about a kind of defect, such as roots=virtual or cycle=fix (docs/formats.md). "
        "May be repeated.",
    ),
    click.option(
        "--labels",
        metavar="FILE",
        shell_complete=files(),
        help="LSHTC: the file with names of classes. Open Images: class-descriptions.csv, with their names.",
    ),
    click.option("--part", type=click.Choice(["noun", "verb"]), help="WordNet: the part of speech to read."),
    click.option(
        "--root", default="root", show_default=True, help="Key of the root, if a root has to be added."
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Edge lists: whether the first line is a header. By default, this is recognized from the file.",
    ),
    click.option(
        "--delimiter",
        type=click.Choice(["space", "tab", "comma", "semicolon"]),
        help="Edge lists and records: the separator between columns. By default, it is recognized from the "
        "file.",
    ),
    click.option(
        "--relation",
        help="Edge lists and records with several relations: read only edges of this relation. OBO and RDF: "
        "the relations that make the hierarchy, such as is_a,part_of or subClassOf,part_of.",
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=WORD",
        help="Records: the column or member that has a role, such as key=Code or name:de=Titel. May be "
        "repeated.",
    ),
    click.option(
        "--separator",
        metavar="TEXT",
        help="Records: what separates the values in a cell. Label paths: what separates their labels. By "
        "default, it is recognized from the file.",
    ),
    click.option(
        "--level",
        "levels",
        multiple=True,
        metavar="LEVEL",
        help="Taxonomy dumps, and records with a column of levels such as taxonRank: keep this level, such "
        "as species. May be repeated; by default, all are kept.",
    ),
    click.option("--namespace", help="OBO: read only terms of this namespace."),
    click.option(
        "--key",
        type=click.Choice(["iri", "curie", "local", "notation"]),
        help="RDF: what to use as the keys of labels. By default, their IRIs.",
    ),
    click.option(
        "--language", metavar="TAG", help="RDF: the language of names. By default, English if there is any."
    ),
    click.option("--scheme", metavar="IRI", help="SKOS: read only the concepts of this scheme."),
    click.option(
        "--vocabulary",
        type=click.Choice(["skos", "classes"]),
        help="RDF: whether labels are SKOS concepts or classes. By default, the file decides.",
    ),
)


def read_source(source: str, **reading: Any) -> ReadResult:
    """Read the hierarchy at `source`.

    `reading` contains the value of each option that `reading_options` adds.
    """
    from labelgrove.ontology import read

    return read(source, **as_reading(**reading))


def as_reading(
    *,
    format_: str | None,
    policies: tuple[str, ...],
    columns: tuple[str, ...] = (),
    levels: tuple[str, ...] = (),
    **rest: Any,
) -> dict[str, Any]:
    """Turn the values of the options that `reading_options` adds into arguments of `ontology.read`."""
    from labelgrove.ontology.errors import InputError
    from labelgrove.ontology.readers.defectrules import policies_of

    roles = {}
    for entry in columns:
        role, equals, word = entry.partition("=")
        if not equals:
            raise InputError(f"--column {entry!r}: write ROLE=WORD, for example key=Code")
        roles[role] = word
    return {
        "format": format_,
        "policies": policies_of(policies),
        "columns": roles or None,
        "levels": levels or None,
        **rest,
    }
