"""A small sound taxonomy dump, and malformed dumps made from it; each breaks a rule of its own."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["DUMP", "TAXDUMP_CASES", "TaxdumpCase", "dump_lines"]


def dump_lines(*records: tuple[str, ...]) -> bytes:
    """Return records as the lines of a file of a dump."""
    return "".join("\t|\t".join(record) + "\t|\n" for record in records).encode()


_REST = ("", "8", "0", "1", "0", "0", "0", "0", "0", "")

DUMP: Mapping[str, bytes] = MappingProxyType(
    {
        "nodes.dmp": dump_lines(
            ("1", "1", "no rank", *_REST),
            ("2", "131567", "superkingdom", *_REST),
            ("9605", "131567", "genus", *_REST),
            ("9606", "9605", "species", *_REST),
            ("63221", "9606", "subspecies", *_REST),
            ("131567", "1", "no rank", *_REST),
            ("629395", "2", "genus", *_REST),
        ),
        "names.dmp": dump_lines(
            ("1", "root", "", "scientific name"),
            ("2", "Bacteria", "Bacteria <bacteria>", "scientific name"),
            ("2", "eubacteria", "", "genbank common name"),
            ("9605", "Homo", "", "scientific name"),
            ("9606", "Homo sapiens", "", "scientific name"),
            ("9606", "Homo sapiens Linnaeus, 1758", "", "authority"),
            ("9606", "human", "", "genbank common name"),
            ("63221", "Homo sapiens neanderthalensis", "", "scientific name"),
            ("131567", "cellular organisms", "", "scientific name"),
            ("629395", "Bacteria", "Bacteria <genus>", "scientific name"),
        ),
        "merged.dmp": dump_lines(("12", "74109"), ("74109", "9606")),
        "delnodes.dmp": dump_lines(("77",), ("78",)),
    }
)
"""A dump in which two taxa are called *Bacteria*, and an id was merged twice."""


@dataclass(frozen=True)
class TaxdumpCase:
    """A malformed dump: `code` is reported at line `line` of `file`."""

    code: str
    file: str
    line: int
    content: bytes
    note: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    left_out: str = ""

    @property
    def id(self) -> str:
        return "-".join(filter(None, (self.code, self.file, self.note)))

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the dump."""
        files = {**DUMP, self.file: self.content}
        return {name: content for name, content in files.items() if name != self.left_out}


def _changed(file: str, line: int, old: str, new: str) -> bytes:
    lines = DUMP[file].decode().split("\n")
    if old not in lines[line - 1]:
        raise ValueError(f"{old!r} is not in line {line} of {file}")
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _nodes_cases() -> list[TaxdumpCase]:
    def case(code: str, line: int, old: str, new: str, note: str = "", **options: Any) -> TaxdumpCase:
        return TaxdumpCase(code, "nodes.dmp", line, _changed("nodes.dmp", line, old, new), note, options)

    def grown(code: str, record: tuple[str, ...], note: str = "", line: int = 8) -> TaxdumpCase:
        return TaxdumpCase(code, "nodes.dmp", line, DUMP["nodes.dmp"] + dump_lines((*record, *_REST)), note)

    rest = "\t|\tspecies\t|\t" + "\t|\t".join(_REST) + "\t|"
    return [
        case("columns", 4, "\t|\t9605" + rest, "", "id alone"),
        case("record-end", 4, rest, rest[:-2], "many cells"),
        case("not-an-integer", 4, "9606", "Homo", "key"),
        case("not-an-integer", 4, "9605", "Homo", "parent"),
        case("not-an-integer", 4, "9606", "9223372036854775808", "65 bits"),
        case("not-an-integer", 4, "9606", "\u0669\u0666", "Arabic digits"),
        case("leading-zeros", 4, "9606", "09606", "key"),
        case("leading-zeros", 4, "9605", "09605", "parent"),
        case("empty-key", 4, "9606", "", "key"),
        case("empty-key", 4, "9605", " ", "parent"),
        case("padded-cell", 4, "9606", " 9606", "key"),
        case("padded-cell", 4, "9605", "9605 ", "parent"),
        grown("duplicate-id", ("9606", "9605", "species"), "same parent"),
        grown("self-loop", ("500", "500", "species"), "beside the root"),
        TaxdumpCase("cycle", "nodes.dmp", 5, _changed("nodes.dmp", 3, "131567", "63221"), "below the root"),
        case("roots", 6, "131567\t|\t1\t", "131567\t|\t131567\t"),
        grown("parent-without-record", ("500", "4711", "species")),
        grown("parent-without-record", ("500", "0", "species"), "zero"),
        grown("former-parent", ("500", "74109", "species"), "merged once"),
        grown("former-parent", ("500", "12", "species"), "merged twice"),
        grown("transitive-edge", ("63221", "9605", "subspecies"), line=8),
        grown("missing-name", ("500", "9606", "species")),
        TaxdumpCase("unknown-level", "nodes.dmp", 0, DUMP["nodes.dmp"], options={"levels": ["Genus"]}),
        TaxdumpCase("missing-file", "nodes.dmp", 0, DUMP["nodes.dmp"], left_out="names.dmp"),
        TaxdumpCase("no-records", "nodes.dmp", 0, b"\n \n", "blank lines"),
        TaxdumpCase("encoding", "nodes.dmp", 4, _changed("nodes.dmp", 4, "species", "spe\udce9ies")),
    ]


def _companion_cases() -> list[TaxdumpCase]:
    def case(code: str, file: str, line: int, old: str, new: str, note: str = "") -> TaxdumpCase:
        return TaxdumpCase(code, file, line, _changed(file, line, old, new), note)

    def grown(code: str, file: str, record: tuple[str, ...], note: str = "") -> TaxdumpCase:
        content = DUMP[file] + dump_lines(record)
        return TaxdumpCase(code, file, content.count(b"\n"), content, note)

    names, merged, deleted = "names.dmp", "merged.dmp", "delnodes.dmp"
    return [
        case("columns", names, 7, "\t|\thuman", "", "three cells"),
        case("record-end", names, 7, "name\t|", "name"),
        case("not-an-integer", names, 7, "9606", "x"),
        case("leading-zeros", names, 7, "9606", "009606"),
        case("empty-key", names, 7, "9606", ""),
        case("padded-cell", names, 7, "9606", "9606 ", "key"),
        case("padded-cell", names, 7, "human", " human", "name"),
        case("missing-name", names, 7, "human", "", "empty name"),
        case("missing-name", names, 4, "Homo", " ", "blank scientific name"),
        grown("conflicting-texts", names, ("9605", "Pan", "", "scientific name")),
        grown("unknown-taxon", names, ("4711", "x", "", "scientific name"), "name"),
        case("name-class", names, 7, "genbank common name", "nickname"),
        case("encoding", names, 7, "human", "hum\udce4n"),
        case("nul", names, 7, "human", "hu\0man"),
        case("replacement-character", names, 7, "human", "hum\ufffdn"),
        TaxdumpCase("empty-file", names, 0, b""),
        TaxdumpCase("gzip-truncated", names, 11, gzip.compress(DUMP[names])[:-4]),
        case("columns", merged, 1, "\t|\t74109", "", "one cell"),
        case("record-end", merged, 1, "74109\t|", "74109"),
        case("not-an-integer", merged, 1, "12", "x", "old"),
        case("empty-key", merged, 1, "74109", ""),
        case("padded-cell", merged, 1, "74109", "74109 "),
        grown("unknown-taxon", merged, ("13", "4711"), "new id"),
        TaxdumpCase("unknown-taxon", merged, 1, dump_lines(("13", "14"), ("14", "13")), "in a loop"),
        grown("former-id", merged, ("9605", "9606"), "a taxon"),
        grown("former-id", merged, ("77", "9606"), "deleted"),
        grown("former-id", merged, ("12", "9605"), "two successors"),
        case("columns", deleted, 2, "78", "78\t|\t79", "two cells"),
        case("record-end", deleted, 2, "78\t|", "78"),
        case("not-an-integer", deleted, 2, "78", "x"),
        case("empty-key", deleted, 2, "78", ""),
        case("leading-zeros", deleted, 2, "78", "078"),
        grown("former-id", deleted, ("9606",), "a taxon"),
    ]


TAXDUMP_CASES: list[TaxdumpCase] = [*_nodes_cases(), *_companion_cases()]
