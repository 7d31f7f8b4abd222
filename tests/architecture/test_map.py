"""The map of the rooms in docs/architecture.md names every module and folder of them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def parts(room: str) -> set[str]:
    """Return what the map has to name: modules, and folders with a slash behind them."""
    found = {path.name for path in (ROOT / room).glob("*.py")} - {"__init__.py"}
    folders = {path.parent for path in (ROOT / room).glob("*/__init__.py")}
    return found | {f"{folder.name}/" for folder in folders if not folder.is_symlink()}


@pytest.mark.parametrize("room", ["ontology", "ontology/geometry", "adapter", "workers", "labelgrove"])
def test_the_map_names_every_part_of_a_room(room: str) -> None:
    assert {part for part in parts(room) if f"`{part}`" not in PAGE} == set()


def test_every_file_that_the_map_names_is_there() -> None:
    cells = [row.split("|")[2] for row in PAGE.splitlines() if row.startswith("| ") and row.count("|") >= 4]
    named = {name for cell in cells for name in cell.split("`")[1::2] if name.endswith((".py", "/"))}
    there = {
        part
        for room in ("ontology", "ontology/geometry", "adapter", "workers", "labelgrove")
        for part in parts(room)
    }
    assert len(named) > 80
    assert named - there == set()
