r"""Recognize the kind of a file by its first bytes; one table lists all kinds, readable or not.

Each row of the table is a kind. If the row names a format as its ``reader``, files of this kind can be read
in this format, and are refused in all others. If it names none, files of this kind cannot be read in any
format, and the row contains advice. The first row that fits applies. Therefore rows that test bytes come
before rows that test text, and rows that test for one unmistakable sign come before rows that count how many
lines have a certain form. Kinds of JSON documents are distinguished by
`ontology.readers.formats.records.jsonshapes`, which needs all of their text.

If you add a format in which files of one of these kinds can be read, enter its name as the ``reader`` of the
row of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from labelgrove.ontology.readers.detection.jsoncontents import holds_records, is_json_ld
from labelgrove.ontology.readers.detection.signs import (
    Sign,
    all_of,
    first_record,
    has_blocks,
    has_headings,
    is_binary,
    is_marked_up,
    is_newick,
    is_pickle,
    is_prose,
    is_python,
    is_statements,
    most_lines,
    some_lines,
    starts_with,
    text_starts,
    utf16,
    xml,
)
from labelgrove.ontology.readers.detection.yamltext import looks_like_yaml
from labelgrove.ontology.readers.formats.exported import READ_FORMATS
from labelgrove.ontology.readers.formats.obo import looks_like_obo
from labelgrove.ontology.readers.formats.rdf.syntax import is_quads, is_turtle
from labelgrove.ontology.readers.formats.records.jsonshapes import by_networkx
from labelgrove.ontology.readers.formats.records.paths import NUMPY, has_level_header
from labelgrove.ontology.readers.formats.records.recordcolumns import has_record_header
from labelgrove.ontology.readers.formats.tables.tableheader import has_header
from labelgrove.ontology.readers.formats.wordnet import looks_like_wordnet
from labelgrove.ontology.readers.text.head import Head
from labelgrove.ontology.readers.text.jsonhead import is_json, is_json_lines
from labelgrove.ontology.readers.text.tablelines import PARQUET

__all__ = ["DOCUMENTS", "LOOKS", "Look", "look_of"]


@dataclass(frozen=True)
class Look:
    """One kind of file.

    Attributes
    ----------
    name : str
        Name of the kind, with an article if it needs one.
    fits : callable
        Takes the start of a file; returns whether the file is of this kind.
    advice : str
        How to handle such a file; empty if it can be read in a format.
    reader : str or None
        The name of the format in which such a file can be read; None if there is none.
    also : tuple of str
        Other formats in which such a file can be read, if the caller names them.
    """

    name: str
    fits: Sign
    advice: str = ""
    reader: str | None = None
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        advice = self.advice or f"omit the format, or choose {self.reader}"
        return f"this looks like {self.name}: {advice}"


def look_of(start: Head) -> Look | None:
    r"""Return the kind of a file that begins with `start`; None if it may be a hierarchy written as text.

    >>> look_of(Head(b"PK\x03\x04...")).name, look_of(Head(b"a b\nb c\n"))
    ('a zip archive', None)
    """
    return next((look for look in LOOKS if look.fits(start)), None)


_AS_EDGES = "write the hierarchy as an edge list with the header parent,child"
_BY_PANDAS = "write it with pandas as CSV with the columns parent and child"
_BY_SHEET = "convert it, or save the sheet as CSV: libreoffice --headless --convert-to csv FILE"
_BY_ARROW = (
    'convert it with pyarrow: python -c "import pyarrow.{0}, pyarrow.parquet; '
    "pyarrow.parquet.write_table(pyarrow.{0}.read_table('FILE'), 'table.parquet')\""
)
_BY_GVPR = r"""convert it: gvpr 'E { printf("%s\t%s\n", $.tail.name, $.head.name) }' FILE > edges.tsv"""
_BY_ROBOT = "convert it: robot convert --input FILE --output labels.ttl"
_UNPACK = "unpack it and read the file inside: {}"
_AS_OUTLINE = "write its headings and lists as an outline indented by blanks"
_BY_ICONV = "convert it: iconv -f {} -t UTF-8 FILE > labels.txt"
_FETCH = "this may be an error page: download the file again"
_DAY = r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\S+ \S+ \S+ \[\d\d/)"
_LEVEL = "(DEBUG|INFO|NOTICE|WARN(ING)?|ERROR|CRITICAL|FATAL)"
_RUN = "run it, and read the file that it writes"

DOCUMENTS = Look(
    "documents with features (svmlight)",
    most_lines(r"^\s*[-+]?[\d.]+(, ?\d+)*( qid:\d+)?( \d+:[-+.\deE]+)+\s*(#.*)?$", share=0.6),
    "read the file of the hierarchy; name the class list of a category hierarchy with the option labels",
)
"""The kind of files that list documents; the labels file of a category hierarchy is of this kind."""

LOOKS: tuple[Look, ...] = (
    # Bytes.
    Look("an Excel spreadsheet", starts_with(b"PK\x03\x04", beside=b"xl/"), _BY_SHEET),
    Look("an OpenDocument spreadsheet or text", starts_with(b"mimetypeapplication/vnd.oasis", 30),
         _BY_SHEET),
    Look("a numpy .npz archive", starts_with(b"PK\x03\x04", beside=b".npy"),
         "read the array of label paths in it: unzip FILE"),
    Look("a zip archive", starts_with(b"PK\x03\x04"), _UNPACK.format("unzip FILE")),
    Look("bzip2", starts_with(b"BZh"), "unpack it: bunzip2 -k FILE"),
    Look("xz", starts_with(b"\xfd7zXZ\x00"), "unpack it: unxz -k FILE"),
    Look("zstandard", starts_with(b"\x28\xb5\x2f\xfd"), "unpack it: unzstd FILE"),
    Look("lz4", starts_with(b"\x04\x22\x4d\x18"), "unpack it: unlz4 FILE labels"),
    Look("a 7z archive", starts_with(b"7z\xbc\xaf\x27\x1c"), _UNPACK.format("7z x FILE")),
    Look("a rar archive", starts_with(b"Rar!\x1a\x07"), _UNPACK.format("unrar x FILE")),
    Look("a tar archive", starts_with(b"ustar", 257), _UNPACK.format("tar xf FILE")),
    Look("Parquet", starts_with(PARQUET), reader="records", also=("edges",)),
    Look("Arrow or Feather", starts_with(b"ARROW1"), _BY_ARROW.format("feather")),
    Look("ORC", starts_with(b"ORC\x0a"), _BY_ARROW.format("orc")),
    Look("Avro", starts_with(b"Obj\x01"), _BY_PANDAS),
    Look("HDF5", starts_with(b"\x89HDF"), _BY_PANDAS),
    Look("a SQLite database", starts_with(b"SQLite format 3\x00"),
         'export a table: sqlite3 -csv -header FILE "SELECT * FROM TABLE" > table.csv'),
    Look("a numpy array", starts_with(NUMPY), reader="paths"),
    Look("a Python pickle", is_pickle, "write its contents as an edge list"),
    Look("a labelgrove artifact, such as a bundle", starts_with(b'\x00\x00{"', 6, b'labelgrove/'),
         "inspect it with grove bundle inspect; read the source of its ontology"),
    Look("safetensors", starts_with(b'\x00\x00{"', 6),
         "it contains arrays; read the file that names the labels"),
    Look("a Word or Excel document in the older format", starts_with(b"\xd0\xcf\x11\xe0"), _BY_SHEET),
    Look("a PDF", starts_with(b"%PDF"), "copy the hierarchy into a text file"),
    Look("PostScript", starts_with(b"%!PS"), "copy the hierarchy into a text file"),
    Look("RTF", starts_with(b"{\\rtf"), "save it as plain text"),
    Look("a picture (PNG)", starts_with(b"\x89PNG"), "read a text file"),
    Look("a picture (JPEG)", starts_with(b"\xff\xd8\xff"), "read a text file"),
    Look("a picture (GIF)", starts_with(b"GIF8"), "read a text file"),
    Look("a picture (TIFF)", starts_with(b"II*\x00"), "read a text file"),
    Look("a program (ELF)", starts_with(b"\x7fELF"), "read a text file"),
    Look("UTF-32", starts_with(b"\xff\xfe\x00\x00"), _BY_ICONV.format("UTF-32")),
    Look("big-endian UTF-32", starts_with(b"\x00\x00\xfe\xff"), _BY_ICONV.format("UTF-32")),
    Look("UTF-16", starts_with(b"\xff\xfe"), _BY_ICONV.format("UTF-16")),
    Look("big-endian UTF-16", starts_with(b"\xfe\xff"), _BY_ICONV.format("UTF-16")),
    Look("UTF-16 without a byte order mark", utf16(1), _BY_ICONV.format("UTF-16LE")),
    Look("big-endian UTF-16 without a byte order mark", utf16(0), _BY_ICONV.format("UTF-16BE")),
    # Text with a distinctive sign.
    Look("a Git LFS pointer", text_starts(r"version https://git-lfs\.github\.com"),
         "fetch the file with git lfs pull"),
    Look("an HTML page", xml("html|head|body|div|p|span|table|ul|ol|title"), _FETCH),
    Look("RDF/XML", xml(r"(\w+:)?RDF"), reader="rdf"),
    Look("OWL/XML", xml("(owl:)?Ontology"), _BY_ROBOT),
    Look("GraphML", xml("graphml"), by_networkx("read_graphml('FILE')")),
    Look("GEXF", xml("gexf"), by_networkx("read_gexf('FILE')")),
    Look("a lexicon (WN-LMF)", xml("LexicalResource"), _AS_EDGES),
    Look("MeSH descriptors in XML", xml("DescriptorRecordSet"), _AS_EDGES),
    Look("ICD-10 in XML", xml(r"ICD10CM\.tabular|icd_10\w*"), reader="icd"),
    Look("an outline in OPML", xml("opml"), "write it as an outline indented by blanks"),
    Look("a picture (SVG)", xml("svg"), "read a text file"),
    Look("a Pascal VOC annotation", xml("annotation"), "read a file with the hierarchy of the classes"),
    Look("XML", xml(), _AS_EDGES),
    Look("a WordNet database file", lambda head: looks_like_wordnet(head.lines), reader="wordnet"),
    Look("a table of labels with a header",
         lambda head: has_record_header(head.first_record) is not None,
         reader="records", also=("edges",)),
    Look("a table of levels with a header",
         lambda head: has_level_header(head.first_record) is not None,
         reader="paths"),
    Look("an edge list with a header",
         lambda head: has_header(head.first_record) not in (None, "space"),
         reader="edges"),
    Look("a labelgrove export", text_starts(rf'\{{\s*"format":\s*"({"|".join(READ_FORMATS)})"'),
         reader="export"),
    Look("binary data", is_binary, "read a text file"),
    Look("OBO", looks_like_obo, reader="obo"),
    Look("a settings file (TOML or INI)",
         all_of(some_lines(r"\[{1,2}[^\[\],=]+\]{1,2}\s*([#;].*)?$"), some_lines(r"\s*[\w.\"'-]+\s*[=:]"),
              most_lines(r"^\[{1,2}[^\[\],=]+\]{1,2}|^\s*[\w.\"'-][\w.\"'\s-]*[=:]|^\s*;|^\s*[\]}]|^\s+\S")),
         _AS_EDGES),
    Look("JSON-LD", is_json_ld, reader="rdf"),
    Look("JSON Lines", is_json_lines, reader="records", also=("json",)),
    Look("records of labels in JSON", holds_records, reader="records", also=("json",)),
    Look("JSON", is_json, reader="json", also=("records",)),
    Look("Turtle or TriG", is_turtle, reader="rdf"),
    Look("N-Triples or N-Quads", is_quads, reader="rdf"),
    Look("OWL in functional or Manchester syntax",
         first_record(r"(prefix|ontology)\(|prefix:\s|ontology:\s*<"), _BY_ROBOT),
    Look("NEXUS", text_starts("#nexus"), "write the tree as an edge list"),
    Look("Newick", is_newick, "write the tree as an edge list"),
    Look("a Graphviz graph",
         text_starts(r"(//[^\n]*\n\s*|/\*[^*]*\*/\s*)*(strict\s+)?(di)?graph\b[^{\n]*\{"),
         _BY_GVPR),
    Look("GML", text_starts(r'((creator|version|comment)\b.*\n\s*)*graph\s*\['),
         by_networkx("read_gml('FILE')")),
    Look("Pajek", first_record(r"\*(vertices|network)\b"), by_networkx("DiGraph(nx.read_pajek('FILE'))")),
    Look("LaTeX", some_lines(r"\\(documentclass|begin\{document\}|usepackage)"), _AS_EDGES),
    Look("BibTeX", first_record(r"@\w+\s*\{"), _AS_EDGES),
    Look("ARFF", first_record(r"@relation\b"), _AS_EDGES),
    Look("Markdown", is_marked_up, _AS_OUTLINE),
    Look("a script", text_starts("#! ?/"), _RUN),
    Look("Python source", is_python, _RUN),
    Look("SQL", some_lines(r"(?i)\s*(create (table|database)|insert into|select\b.*\bfrom)\b"),
         "run it, and export the edges as CSV"),
    # Text recognized from most of its lines.
    Look("a log file", most_lines(rf"^{_DAY}|^(\[{_LEVEL}\]|{_LEVEL}:)\s", least=1),
         "read a file with a hierarchy of labels"),
    DOCUMENTS,
    Look("an NCBI taxonomy dump", most_lines(r"\t\|(\t|$)"), reader="taxdump"),
    Look("MeSH tree numbers", most_lines(r";[A-Z]\d\d(\.\d{3})*\s*$"), _AS_EDGES),
    Look("label paths", most_lines(r"\S > \S", share=0.5), reader="paths"),
    Look("names of folders that are label paths", most_lines(r"^\d{3,}(_[A-Za-z0-9.-]+){6,}/?\s*$"),
         reader="paths"),
    Look("environment variables", most_lines(r"^\s*(export )?[A-Z][A-Z0-9_]*="), _AS_EDGES),
    Look("properties (name = value)", most_lines(r"^\s*[\w.-]+ = \S"), _AS_EDGES),
    Look("C source code", some_lines(r'#\s*(include\s*[<"]|define \w|undef \w|if\w* \w|endif\b)', least=2),
         _RUN),
    Look("source code", lambda head: has_blocks(head) or is_statements(head), _RUN),
    Look("a manual page", some_lines(r"[.'](\\\"|[A-Z]{2}\b)", least=3), _AS_OUTLINE),
    Look("Perl documentation", some_lines(r"=(head\d|pod|over|item|cut)\b", least=2), _AS_OUTLINE),
    Look("checksums", most_lines(r"^[0-9a-f]{32,128} [ *]\S"), "read a file with a hierarchy of labels"),
    Look("YAML", lambda head: looks_like_yaml(head.lines),
         "convert it: python -c \"import json, yaml; json.dump(yaml.safe_load(open('FILE')), "
         "open('labels.json', 'w'))\""),
    Look("Markdown or reStructuredText", has_headings, _AS_OUTLINE),
    Look("running text", is_prose, _AS_OUTLINE),
)  # fmt: skip
"""Every kind that is recognized from the start of a file, in the order of the tests."""
