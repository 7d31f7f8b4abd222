"""Turn the arguments of a read into a request: the file, its format, the options and the policies."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import GroveError, InputError, no_such_file
from labelgrove.ontology.labelgraph import FORMAT_TAG
from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.defectrules import resolve_policies
from labelgrove.ontology.readers.defects import printable
from labelgrove.ontology.readers.detection.looks import DOCUMENTS, Look, look_of
from labelgrove.ontology.readers.detection.sniff import sniff
from labelgrove.ontology.readers.formats.exported import read_export
from labelgrove.ontology.readers.formats.icd import read_icd
from labelgrove.ontology.readers.formats.jsontree import read_json
from labelgrove.ontology.readers.formats.lshtc import read_lshtc
from labelgrove.ontology.readers.formats.obo import read_obo
from labelgrove.ontology.readers.formats.outline import read_outline
from labelgrove.ontology.readers.formats.rdf.reader import read_rdf
from labelgrove.ontology.readers.formats.records.paths import read_paths
from labelgrove.ontology.readers.formats.records.recordcolumns import names_records
from labelgrove.ontology.readers.formats.records.records import read_records
from labelgrove.ontology.readers.formats.superclass import read_superclasses
from labelgrove.ontology.readers.formats.tables.edgelist import read_edges
from labelgrove.ontology.readers.formats.taxdump import COMPANIONS, NODES, find_nodes, read_taxdump
from labelgrove.ontology.readers.formats.wordnet import WORD_COUNTS, find_data, read_wordnet
from labelgrove.ontology.readers.text.head import Head, head
from labelgrove.ontology.readers.text.tablelines import parquet_names
from labelgrove.ontology.store.filedigest import sha256_of

__all__ = ["FORMATS", "READER_VERSION", "Format", "Request", "ask"]

READER_VERSION = 13
"""Version of the readers, increased when a reader may give another result; files are then read again."""


@dataclass(frozen=True)
class Format:
    """A source format.

    Attributes
    ----------
    name : str
        The name, as in ``--format NAME``.
    title : str
        Description in one line.
    reader : callable
        Reads the file at a path into a collector, with the caller's options.
    options : tuple of str
        Keyword arguments of `read` that the format takes; every format also takes ``root``.
    companions : tuple of str
        Names of files that the reader also reads if they are beside the source.
    in_folder : callable or None
        Returns the file to read in a folder, given the folder and the caller's options, or None if the
        folder does not contain it. None if a source of this format is always a file.
    contents : str
        The name of that file, for messages.
    policies : mapping of code to policy
        Default policies of the format, where they differ from those in `ontology.readers.defectrules`.
    """

    name: str
    title: str
    reader: Callable[[Path, Collector, Options], None]
    options: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    in_folder: Callable[[Path, Options], Path | None] | None = None
    contents: str = ""
    policies: Mapping[str, str] = field(default_factory=dict)


FORMATS = {
    f.name: f
    for f in (
        Format(
            "wordnet",
            "WordNet database: data.noun, data.verb, or their folder",
            read_wordnet,
            ("part",),
            (WORD_COUNTS,),
            lambda folder, options: find_data(folder, options.part),
            "data.PART of WordNet",
        ),
        Format(
            "edges",
            "edge list split by blanks, tabs, commas or semicolons; header optional",
            read_edges,
            ("direction", "header", "delimiter", "relation"),
        ),
        Format(
            "records",
            "one record a label, with its key, name, parents and texts: table, JSON, JSON Lines, Parquet",
            read_records,
            ("delimiter", "relation", "columns", "separator", "levels", "labels"),
        ),
        Format(
            "paths",
            "one label path a line, or one level a column",
            read_paths,
            ("separator",),
            policies={"roots": "virtual"},
        ),
        Format("lshtc", "category hierarchy of integers, and its class list", read_lshtc, ("labels",)),
        Format(
            "superclass",
            "lines of `superclass TAB class, class`",
            read_superclasses,
            policies={"roots": "virtual"},
        ),
        Format("outline", "outline indented by blanks, tabs or dashes", read_outline),
        Format(
            "taxdump",
            "NCBI taxonomy dump: nodes.dmp, or its folder",
            read_taxdump,
            ("levels",),
            COMPANIONS,
            lambda folder, _: find_nodes(folder),
            f"{NODES} of a taxonomy dump",
            policies={"parent-without-record": "error"},
        ),
        Format(
            "obo",
            "OBO 1.0 to 1.4",
            read_obo,
            ("relation", "namespace"),
            policies={"roots": "virtual"},
        ),
        Format(
            "icd",
            "ICD-10 in XML: the tabular list of ICD-10-CM, or a tree of items",
            read_icd,
            policies={"roots": "virtual"},
        ),
        Format("json", 'nested tree of {"name": ..., "children": [...]}', read_json),
        Format(
            "rdf",
            "SKOS, RDFS or OWL in Turtle, TriG, N-Triples, N-Quads, RDF/XML or JSON-LD",
            read_rdf,
            ("key", "language", "scheme", "vocabulary", "relation"),
            policies={"roots": "virtual", "conflicting-texts": "fix"},
        ),
        Format(
            "export",
            "JSON as written by `grove ontology export --format json`",
            read_export,
            policies={
                "roots": "keep",
                "control-character": "warn",
                "invisible-character": "warn",
                "obsolete-label": "warn",
            },
        ),
    )
}


_NARROWER = {"json": "export"}
"""For a requested format, the narrower format that is used instead if the file is in the narrower one."""


@dataclass(frozen=True)
class Request:
    """A source, and everything that determines how it is read.

    Attributes
    ----------
    source, file : Path
        The given path, and the file to read. They are the same unless the given path is a folder; then the
        file to read is in this folder.
    format : Format
        The format in which the file is read.
    look : Look or None
        The kind of the file, as `look_of` recognizes it; None if the file may be a hierarchy written as text.
    labels_look : Look or None
        The kind of the file that the option `labels` names, as `look_of` recognizes it. None if the option is
        not given, or if `look_of` does not recognize the kind.
    options : Options
        The caller's options.
    policies : mapping of code to policy
        The policy for every defect.
    """

    source: Path
    file: Path
    format: Format
    look: Look | None
    labels_look: Look | None
    options: Options
    policies: Mapping[str, str]

    @property
    def is_foreign(self) -> bool:
        """Whether the file looks like a kind of file that cannot be read in the requested format."""
        return self.look is not None and self.format.name not in (self.look.reader, *self.look.also)

    @property
    def has_foreign_labels(self) -> bool:
        """Whether the file that the option `labels` names looks like something other than a class list."""
        return self.labels_look not in (None, DOCUMENTS)

    @property
    def _companions(self) -> list[Path]:
        """The files beside the source that its reader also reads."""
        beside = [self.file.with_name(name) for name in self.format.companions]
        return [path for path in beside if path.is_file()]

    def fingerprint(self) -> str:
        """Return the sha256 over everything that determines the result of the read.

        This includes the bytes and the names of the files that are read: the source, its companions, and the
        file that the option `labels` names, if any. The names are included, because some formats are
        recognized from them. The paths of the folders of these files are not included.
        """
        options = {
            one.name: getattr(self.options, one.name) for one in fields(self.options) if one.name != "labels"
        }
        decides = {
            "readers": READER_VERSION,
            "graph": FORMAT_TAG,
            "format": self.format.name,
            "policies": self.policies,
            "options": options,
            "files": [
                None
                if path is None
                else [os.fsencode(path.name).hex(), sha256_of(path, shown=printable(str(path)))]
                for path in (self.file, self.options.labels, *self._companions)
            ],
        }
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def ask(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    policies: Mapping[str, str] | None = None,
    **options_given: Any,
) -> Request:
    """Return the request that the arguments of `ontology.readers.read` describe.

    Bad arguments raise the errors that are listed for that function.
    """
    source = Path(path)
    given = {name: value for name, value in options_given.items() if name == "root" or not _is_absent(value)}
    options = Options.of(**given)
    folder_format = _folder_format(source, options, format)
    file = _existing_file(source, None if folder_format is None else folder_format[1])
    if options.labels is not None:
        _existing_file(options.labels)
    start = head(file)
    look = look_of(start)
    labels_look = None if options.labels is None else look_of(head(options.labels))
    as_records = "columns" in given
    as_edges = not {"direction", "header"}.isdisjoint(given)
    asked = folder_format[0] if format is None and folder_format is not None else format
    chosen = FORMATS[_format_name(file, start, look, asked, as_edges, as_records)]
    foreign = sorted(given.keys() - {*chosen.options, "root"})
    if foreign:
        takes = ", ".join((*chosen.options, "root"))
        raise InputError(
            f"{foreign[0]}: the format {chosen.name!r} does not have this option; its options: {takes}"
        )
    chosen_policies = resolve_policies(policies, chosen.policies)
    return Request(source, file, chosen, look, labels_look, options, chosen_policies)


def _is_absent(value: object) -> bool:
    """Return whether an option was left out: it is None, or it has no entries."""
    return value is None or (isinstance(value, Sized) and not isinstance(value, str) and not len(value))


def _format_name(
    file: Path, start: Head, look: Look | None, asked: str | None, as_edges: bool, as_records: bool
) -> str:
    """Return the name of the format in which a file is read.

    `asked` is the requested format; if it is None, the format is recognized from the file. If the file is
    in the narrower format that `_NARROWER` gives for the requested one, the narrower format is returned.
    `as_edges` says whether an option was given that only edge lists have; a table of labels, which can be
    read as an edge list too, is then read as one. `as_records` says whether one was given that only records
    have: a table whose header has no known word is then records.
    """
    if asked is None:
        if look is not None and "edges" in look.also and (as_edges or _is_parquet_of_edges(file, look)):
            return "edges"
        if as_records and look is None:
            return "records"
        return sniff(file, start, look)
    if asked not in FORMATS:
        raise InputError(f"format: {asked!r} is unknown; choose from: {', '.join(FORMATS)}")
    narrower = _NARROWER.get(asked)
    return narrower if narrower is not None and look is not None and look.reader == narrower else asked


def _is_parquet_of_edges(file: Path, look: Look) -> bool:
    """Return whether a file is Parquet whose columns are not those of records."""
    if look.name != "Parquet":
        return False
    return not names_records(parquet_names(file) or [])


def _folder_format(source: Path, options: Options, asked: str | None) -> tuple[str, Path] | None:
    """Return the format whose folder `source` is, and the file to read in it; None if it is not a folder.

    If a format is requested, only that one is tried.
    """
    if not os.path.isdir(source):  # False for a path that cannot be looked at, which is reported later
        return None
    fit = [(f, f.in_folder) for f in FORMATS.values() if f.in_folder and asked in (None, f.name)]
    for format, in_folder in fit:
        try:
            file = in_folder(source, options)
        except OSError as error:
            raise _cannot_open(printable(str(source)), error) from error
        if file is not None:
            return format.name, file
    offered = " or ".join(format.contents.replace("PART", options.part) for format, _ in fit)
    held = f"the folder does not contain {offered}; give" if fit else "this is a folder; give"
    raise InputError(f"{printable(str(source))}: {held} a file")


def _existing_file(path: Path, in_folder: Path | None = None) -> Path:
    """Return the readable file that a path names: the path, or the file that was found in this folder."""
    shown = printable(str(path))
    try:
        if not path.exists():
            raise no_such_file(shown)
        file = path if in_folder is None else in_folder
        if not file.is_file():
            raise InputError(f"{shown}: this is a folder or device; give a file")
        with file.open("rb"):
            return file
    except (OSError, ValueError) as error:
        if isinstance(error, GroveError):
            raise
        raise _cannot_open(shown, error) from error


def _cannot_open(shown: str, error: Exception) -> InputError:
    return InputError(f"{shown}: cannot be opened ({error}); give a file that you may read")
