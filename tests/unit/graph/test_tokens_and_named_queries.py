"""Cypher as text: tokens, the named query files and their portability, the migration files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import labelgrove.ontology.graph.namedqueries
from labelgrove.ontology.errors import InputError, MigrationError, NotFoundError
from labelgrove.ontology.graph import migrate
from labelgrove.ontology.graph.cyphertokens import Token, parameters, statements, tokenize
from labelgrove.ontology.graph.namedqueries import DIALECTS, check_parameters, named_query, query_names
from labelgrove.ontology.packagedfiles import migrations_folder, packaged

QUERIES = Path(labelgrove.ontology.graph.namedqueries.__file__).with_name("queries")
COMMON = sorted((QUERIES / "common").glob("*.cypher"))

# What both engines answer alike (learned by trying); anything else belongs into a dialect folder.
PORTABLE_FUNCTIONS = {"count", "collect", "min", "max", "sum", "size", "coalesce", "any", "all"}
RESERVED_BEFORE_BRACKET = {
    "create",
    "merge",
    "in",
    "where",
    "and",
    "or",
    "not",
    "match",
    "on",
    "with",
    "return",
    "by",
    "as",
}


# ---- tokens --------------------------------------------------------------------------------------------


def test_tokens_join_to_the_text_without_blanks() -> None:
    text = "MATCH (n:Label {key: $k})-[:IS_A*1..5]->() WHERE n.x >= 1.5e3 RETURN 'a' + \"b\", `c d` // end"
    assert "".join(t.text for t in tokenize(text)) == re.sub(r"\s|// end", "", text).replace("`cd`", "`c d`")


@pytest.mark.parametrize(
    ("text", "kind"),
    [("'a", "open_single"), ('"a', "open_double"), ("`a", "open_backtick"), ("/* a", "open_comment")],
)
def test_what_never_ends_is_one_token(text: str, kind: str) -> None:
    assert list(tokenize("RETURN " + text))[1:] == [Token(kind, text, 7)]


def test_parameters_are_not_found_in_strings_and_comments() -> None:
    assert parameters("RETURN $a, '$b', `$c`, $`d e` // $f\n/* $g */") == {"a", "d e"}


def test_statements_split_only_at_real_semicolons() -> None:
    assert statements("RETURN ';'; // a;b\n\nRETURN `;` /* ; */ ;;") == [
        "RETURN ';'",
        "// a;b\n\nRETURN `;` /* ; */",
    ]


# ---- named queries -------------------------------------------------------------------------------------


def test_every_file_begins_with_what_it_answers() -> None:
    for dialect in DIALECTS:
        for name in query_names(dialect):
            query = named_query(dialect, name)
            assert re.fullmatch(r"[A-Z].*\.", query.description), name
            assert query.text
            assert len(statements(query.text)) == 1, name


def test_both_dialects_answer_the_same_queries_but_where_whole_versions_are_written_or_read() -> None:
    of_neo4j, of_embedded = (set(query_names(d)) for d in DIALECTS)
    assert all(name.startswith(("load_", "unload_", "all_")) for name in of_neo4j - of_embedded)
    assert all(name.startswith("unload_") or name.endswith("_between") for name in of_embedded - of_neo4j)


def test_a_dialect_file_is_needed_only_where_the_common_one_would_not_do() -> None:
    for dialect in DIALECTS:
        for path in (QUERIES / dialect).glob("*.cypher"):
            assert not (QUERIES / "common" / path.name).exists(), path


def test_an_unknown_query_names_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="begin_version"):
        named_query("embedded", "nothing")


def test_missing_and_needless_parameters_are_errors() -> None:
    with pytest.raises(InputError, match=r"needs \$a, \$b and does not use \$c"):
        check_parameters({"a", "b"}, {"c"}, where="query 'x'")


@pytest.mark.parametrize("path", COMMON, ids=lambda p: p.stem)
def test_common_queries_keep_to_what_both_engines_answer_alike(path: Path) -> None:
    assert portability_faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("cypher", "fault"),
    [
        ("MATCH (a), (b) RETURN a.x", "comma MATCH"),
        ("MATCH (a)-[:R*]->(b) RETURN a.x", "unbounded *"),
        ("MATCH (a)-[:R*1..31]->(b) RETURN a.x", "unbounded *"),
        ("MATCH (a:A:B) RETURN a.x", "several labels"),
        ("MATCH (a) WHERE a:Label RETURN a.x", "label test"),
        ("MATCH (a) RETURN a.xs[0]", "list index"),
        ("MATCH (a) RETURN toString(a.x)", "function tostring"),
        ("MATCH (a) RETURN a", "returns more than scalars"),
        ("MATCH (a) WHERE EXISTS { (a)--() } RETURN a.x", "subquery without MATCH"),
        ("CALL { MATCH (a) RETURN a.x } RETURN x", "CALL"),
        ("MATCH (a) SET a += $m", "map update"),
    ],
)
def test_the_portability_check_sees(cypher: str, fault: str) -> None:
    assert fault in portability_faults(cypher)


def portability_faults(cypher: str) -> list[str]:
    tokens = list(tokenize(cypher))
    text = " ".join(t.text for t in tokens)
    upper = text.upper()
    faults = []
    for clause in re.findall(
        r"MATCH (.*?)(?= (?:MATCH|WHERE|WITH|RETURN|SET|CREATE|DELETE|DETACH|MERGE|UNWIND|OPTIONAL)\b|$)",
        text,
    ):
        if re.search(r"\) ,", re.sub(r"\{.*?\}", "", clause)):
            faults.append("comma MATCH")
    for bounds in re.findall(r"\[ [^\]]*?\* ([^\]]*?)\]", text):
        match = re.fullmatch(r"(?:\d+ )?\.\. (\d+) ", bounds)
        if not match or int(match[1]) > 30:
            faults.append("unbounded *")
    if re.search(r": \w+ : \w+", re.sub(r"\{.*?\}", "", text)):
        faults.append("several labels")
    if re.search(r"WHERE (?:\w+ )?\w+ : \w+", text):
        faults.append("label test")
    if re.search(r"\w \[ (?!:)[^\]]*\]", re.sub(r"- \[", "-[", text)) and not re.search(r"IN \[", text):
        faults.append("list index")
    for name in re.findall(r"(\w+) \(", text):
        if name.lower() not in PORTABLE_FUNCTIONS | RESERVED_BEFORE_BRACKET and not re.search(
            rf"{name} \( \w* ?:", text
        ):
            faults.append(f"function {name.lower()}")
    for returned in re.findall(r"RETURN (.*?)(?= ORDER| LIMIT| SKIP|$)", text):
        for item in re.split(r" , (?![^(]*\))", returned):
            if re.fullmatch(r"\w+", item.strip()) and f"AS {item.strip()}" not in text:
                faults.append("returns more than scalars")
    if re.search(r"(?:EXISTS|COUNT) \{ (?!MATCH)", upper):
        faults.append("subquery without MATCH")
    if re.search(r"\bCALL\b", upper):
        faults.append("CALL")
    if "+ =" in text or "+=" in text:
        faults.append("map update")
    return faults


# ---- migrations ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(migrate, "migrations_folder", lambda: tmp_path)
    folder = tmp_path / "cypher" / "neo4j"
    folder.mkdir(parents=True)
    return folder


def test_the_folder_is_found_and_holds_migrations_of_both_dialects() -> None:
    assert (migrations_folder() / "cypher").is_dir()
    for dialect in DIALECTS:
        found = migrate.migrations(dialect)
        assert [m.version for m in found] == [f"{i:04}" for i in range(1, len(found) + 1)]


def test_what_an_installation_lacks_is_told_with_both_places() -> None:
    with pytest.raises(MigrationError, match=r"docs/none\.md: neither at .*_docs/none\.md nor at "):
        packaged("docs/none.md")


def test_the_checksum_ignores_line_ends_alone(folder: Path) -> None:
    (folder / "V0001__a.cypher").write_bytes(b"RETURN 1;\nRETURN 2;\n")
    first = migrate.migrations("neo4j")
    (folder / "V0001__a.cypher").write_bytes(b"RETURN 1;\r\nRETURN 2;\r\n")
    assert migrate.migrations("neo4j")[0].checksum == first[0].checksum
    (folder / "V0001__a.cypher").write_bytes(b"RETURN 1;\nRETURN 3;\n")
    assert migrate.changed_versions("neo4j", {"0001": first[0].checksum}) == ["0001"]


@pytest.mark.parametrize("name", ["V0002__gap.cypher", "V1__short.cypher", "first.cypher"])
def test_a_badly_numbered_migration_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("RETURN 1;")
    with pytest.raises(MigrationError, match=re.escape(name)):
        migrate.migrations("neo4j")


def test_an_empty_folder_is_refused(folder: Path) -> None:
    with pytest.raises(MigrationError, match="reinstall"):
        migrate.migrations("neo4j")


def test_an_unknown_newer_version_is_refused_with_the_remedy(folder: Path) -> None:
    (folder / "V0001__a.cypher").write_text("RETURN 1;")
    assert [m.version for m in migrate.pending("neo4j", {}, where="here")] == ["0001"]
    with pytest.raises(MigrationError, match=r"here: migration 0009 .* upgrade labelgrove"):
        migrate.pending("neo4j", {"0001": "x", "0009": "y"}, where="here")
