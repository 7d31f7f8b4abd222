"""Tables: they fit a terminal, whatever they hold, and a program gets all of it."""

import os
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from labelgrove.adapter.texttable import shown_width
from labelgrove.cli import grove
from labelgrove.cli.printing.texttable import laid_out
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.client import build_bundle_job
from tests.cli.terminal import sent_to_terminal

pytestmark = pytest.mark.long

WORDS = st.text(st.sampled_from("ab -櫟e\u0301é"), max_size=40)
NUMBERS = st.integers(-(10**6), 10**6).map(str)
TABLES = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.lists(WORDS, min_size=n, max_size=n),
        st.lists(st.tuples(*[NUMBERS if i % 3 == 2 else WORDS for i in range(n)]), max_size=6),
    )
)


@given(TABLES, st.integers(20, 120), st.booleans())
def test_every_line_fits_the_terminal(table, width, wrap):
    columns, rows = table
    for line in laid_out(columns, rows, width=width, wrap=wrap):
        assert cell_len(line) <= width, line
        assert cell_len(line) == shown_width(line)


@given(TABLES)
def test_a_program_gets_every_cell_in_one_line_for_each_row(table):
    columns, rows = table
    lines = laid_out(columns, rows)
    assert len(lines) == 2 + len(rows)
    for cells, line in zip([columns, *rows], [lines[0], *lines[2:]], strict=True):
        for cell in cells:
            assert cell.rstrip() in line


@given(TABLES, st.integers(20, 60))
def test_what_fits_is_laid_out_as_for_a_program(table, width):
    columns, rows = table
    full = laid_out(columns, rows)
    if max(map(cell_len, full)) <= width:
        assert laid_out(columns, rows, width=max(width, cell_len(full[1]))) == full


def test_columns_that_find_no_room_follow_beside_the_first():
    columns = ["key", *(f"column {i}" for i in range(6))]
    rows = [(f"row {r}", *(f"cell {r}.{i} of a table" for i in range(6))) for r in range(2)]
    lines = laid_out(columns, rows, width=40)
    assert lines[0].split("  ")[0] == "key"
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) > 1
    assert all(block.startswith("key") and "\nrow 1" in block for block in blocks)
    assert all(f"column {i}" in "\n".join(lines) for i in range(6))


def test_numbers_are_never_cut_and_the_widest_text_gives_way_first():
    rows = [("k" * 60, "name", 123456789, "x" * 30)]
    line = laid_out(("key", "name", "size", "of"), [tuple(map(str, row)) for row in rows], width=60)[2]
    assert "123456789" in line
    assert "  name  " in line
    assert line.count("…") == 2
    numbers = ("123456789012", "987654321098")
    assert laid_out(("n", "a header"), [numbers], width=20)[2].split() == list(
        numbers
    )  # beyond it, and whole
    assert "…" in laid_out(("n", "of"), [("1" * 60, "x")], width=20)[2]  # a key, rather


def test_wrapped_text_is_all_there_broken_at_spaces():
    text = "point GROVE_DATABASE_URL to a local disk, or use PostgreSQL, which readers beside a writer need"
    lines = laid_out(("part", "detail"), [("database", text), ("x", "y")], width=40, wrap=True)
    assert " ".join(line[10:] for line in lines[2:-1]) == text
    assert all(line.startswith(("database  ", " " * 10)) for line in lines[2:-1])
    assert laid_out(("part", "detail"), [("x", "word " * 1000)], width=40, wrap=True)[-1].endswith("…")
    assert len(laid_out(("part", "detail"), [("x", "word " * 1000)], width=40, wrap=True)) == 2 + 8


def test_whole_columns_are_never_cut():
    rows = [("k" * 30, "n" * 30, "x" * 30)]
    for width in (20, 40, 64, 70):
        lines = laid_out(("key", "name", "of"), rows, width=width, whole=[1])
        assert any("n" * 30 in line for line in lines), width


KEYS = [f"{i}" + " a key that somebody wrote with many words and no end" * 2 for i in range(3)]


@pytest.fixture
def ontology(tmp_path):
    with Workspace.open(Settings.from_env()) as workspace:
        register(workspace, "long", LabelGraph.from_edges([(key, "root") for key in [*KEYS, "\ttab"]]))


def on_terminal(columns: int, *arguments: str) -> list[str]:
    """The lines that a terminal of so many columns is sent."""
    env = os.environ | {"COLUMNS": str(columns), "PYTHONPATH": str(Path(__file__).parents[2])}
    sent = sent_to_terminal([sys.executable, "-m", "labelgrove", *arguments], env=env, errors=False)
    return sent.replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        ("labels", "search", "long", "a"),
        ("ontology", "list"),
        ("ontology", "show", "long"),
        ("doctor",),
        ("jobs", "kinds"),
        ("experiment", "list"),
        ("distances", "long", "--columns", ",".join(KEYS)),
        (
            "cypher",
            "MATCH (l:Label) RETURN l.key AS a, l.name AS b, l.uid AS c, l.version AS d, l.folded AS e",
        ),
    ],
    ids=lambda given: " ".join(given[:2]),
)
def test_commands_fit_a_terminal_and_are_whole_in_a_pipe(arguments, ontology):
    for columns in (60, 100):
        lines = on_terminal(columns, *arguments)
        assert len(lines) > 2
        assert max(map(cell_len, lines)) <= columns
        assert not any("\t" in line for line in lines)
    piped = CliRunner().invoke(grove, list(arguments)).stdout
    assert "…" not in piped
    if arguments[0] in ("labels", "distances", "cypher"):
        assert all(key in piped for key in KEYS)


def test_lists_keep_the_names_that_commands_take(tmp_path):
    """At 80 columns; digests are shortened on a terminal only."""
    name, bundle = "a-long-name-of-an-ontology-of-plants", "the-classes-of-my-model"
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    with Workspace.open(Settings.from_env()) as workspace:
        digest = register(workspace, name, graph).digest
        job = build_bundle_job(workspace, name, bundle, ["oak", "elm"])
    for arguments, kept, digits in (
        (("ontology", "list"), name, digest),
        (("bundle", "list"), f"{name}/{bundle}", job.result_sha256),
        (("jobs", "list"), name, None),
    ):
        shown = "\n".join(on_terminal(80, *arguments))
        assert f"{kept} " in shown
        piped = CliRunner().invoke(grove, list(arguments)).stdout
        assert re.search(r"\d\dT\d\d:\d\d:\d\dZ", piped)
        assert not re.search(r"\d\dT\d\d:\d\d:\d\dZ", shown)
        assert re.search(r"\d\dT\d\d:\d\dZ", shown)
        if digits is not None:
            assert digits in piped
            assert re.search(rf"\b{digits[:12]}\b", shown)
