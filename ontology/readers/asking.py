"""Turn the arguments of a read into a request: the file, its format, the options and the policies."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labelgrove.ontology.errors import GroveError, InputError, no_such_file
from labelgrove.ontology.labelgraph import FORMAT_TAG
from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.defectrules import resolve_policies
from labelgrove.ontology.readers.defects import printable
from labelgrove.ontology.readers.detection.looks import DOCUMENTS, Look, look_of
from labelgrove.ontology.readers.detection.sniff import sniff
from labelgrove.ontology.readers.formats.edgelist import read_edges
from labelgrove.ontology.readers.formats.exported import read_export
from labelgrove.ontology.readers.formats.jsontree import read_json
from labelgrove.ontology.readers.formats.lshtc import read_lshtc
from labelgrove.ontology.readers.formats.outline import read_outline
from labelgrove.ontology.readers.formats.paths import read_paths
from labelgrove.ontology.readers.formats.recordcolumns import names_records
from labelgrove.ontology.readers.formats.records import read_records
from labelgrove.ontology.readers.formats.superclass import read_superclasses
from labelgrove.ontology.readers.formats.wordnet import WORD_COUNTS, data_file, read_wordnet
from labelgrove.ontology.readers.text.head import Head, head
from labelgrove.ontology.readers.text.tablelines import parquet_names
from labelgrove.ontology.store.filedigest import sha256_of

__all__ = ["FORMATS", "READER_VERSION", "Format", "Request", "ask"]

READER_VERSION = 7
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
    policies : mapping of code to policy
        Default policies of the format, where they differ from those in `ontology.readers.defectrules`.
    """

    name: str
    title: str
    reader: Callable[[Path, Collector, Options], None]
    options: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
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
            ("delimiter", "relation", "columns", "separator", "levels"),
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
        Format("json", 'nested tree of {"name": ..., "children": [...]}', read_json),
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
        The given path, and the file to read. They are the same unless the given path is a WordNet folder;
        then the file to read is in this folder.
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
        options = self.options
        decides = {
            "readers": READER_VERSION,
            "graph": FORMAT_TAG,
            "format": self.format.name,
            "policies": dict(sorted(self.policies.items())),
            "options": [
                options.direction,
                options.header,
                options.delimiter,
                options.relation,
                options.root,
                sorted((options.columns or {}).items()),
                options.separator,
                options.levels,
            ],
            "files": [
                None
                if path is None
                else [os.fsencode(path.name).hex(), sha256_of(path, shown=printable(str(path)))]
                for path in (self.file, options.labels, *self._companions)
            ],
        }
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()


def ask(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    direction: str | None = None,
    policies: Mapping[str, str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    relation: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    part: str | None = None,
    root: str = "root",
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    levels: Sequence[str] | None = None,
) -> Request:
    """Return the request that the arguments of `ontology.readers.read` describe.

    Bad arguments raise the errors that are listed for that function.
    """
    source = Path(path)
    options = Options(
        direction,
        header,
        delimiter,
        relation,
        None if labels is None else Path(labels),
        part or "noun",
        root,
        dict(columns) if columns else None,
        separator,
        tuple(levels) if levels else None,
    )
    file = _existing_file(source, options.part)
    if options.labels is not None:
        _existing_file(options.labels)
    start = head(file)
    look = look_of(start)
    labels_look = None if options.labels is None else look_of(head(options.labels))
    as_edges = direction is not None or header is not None
    chosen = FORMATS[_format_name(source, start, look, format, as_edges)]
    given = {
        "direction": direction,
        "header": header,
        "delimiter": delimiter,
        "relation": relation,
        "labels": labels,
        "part": part,
        "columns": columns or None,
        "separator": separator,
        "levels": levels or None,
    }
    foreign = sorted(
        name for name, value in given.items() if value is not None and name not in chosen.options
    )
    if foreign:
        takes = ", ".join((*chosen.options, "root"))
        raise InputError(
            f"{foreign[0]}: the format {chosen.name!r} does not have this option; its options: {takes}"
        )
    chosen_policies = resolve_policies(policies, chosen.policies)
    return Request(source, file, chosen, look, labels_look, options, chosen_policies)


def _format_name(source: Path, start: Head, look: Look | None, asked: str | None, as_edges: bool) -> str:
    """Return the name of the format in which a source is read.

    `asked` is the requested format; if it is None, the format is recognized from the source. If the file is
    in the narrower format that `_NARROWER` gives for the requested one, the narrower format is returned.
    `as_edges` says whether an option was given that only edge lists have; a table of labels, which can be
    read as an edge list too, is then read as one.
    """
    if asked is None:
        if look is not None and "edges" in look.also and (as_edges or _is_parquet_of_edges(source, look)):
            return "edges"
        return "wordnet" if source.is_dir() else sniff(source, start, look)
    if asked not in FORMATS:
        raise InputError(f"format: {asked!r} is unknown; choose from: {', '.join(FORMATS)}")
    narrower = _NARROWER.get(asked)
    return narrower if narrower is not None and look is not None and look.reader == narrower else asked


def _is_parquet_of_edges(source: Path, look: Look) -> bool:
    """Return whether a file is Parquet whose columns are not those of records."""
    if look.name != "Parquet":
        return False
    return not names_records(parquet_names(source) or [])


def _existing_file(path: Path, part: str | None = None) -> Path:
    """Return the readable file that a path names; if it is a WordNet folder, the file in it for `part`.

    `part` is a part of speech, such as ``"noun"``, or None if folders are not accepted.
    """
    shown = printable(str(path))
    try:
        if not path.exists():
            raise no_such_file(shown)
        file = data_file(path, part) if part and path.is_dir() else path
        if not file.is_file():
            raise InputError(f"{shown}: this is a folder or device; give a file")
        with file.open("rb"):
            return file
    except (OSError, ValueError) as error:
        if isinstance(error, GroveError):
            raise
        raise InputError(f"{shown}: cannot be opened ({error}); give a file that you may read") from error
