"""The map in docs/architecture.md names every folder of the rooms, with every module in it."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = ("adapter", "labelgrove", "ontology", "workers")


def folders() -> dict[str, list[str]]:
    """Return the modules of each package, found in the folders at the root and not through the links."""
    packages = (init.parent for room in ROOMS for init in (ROOT / room).rglob("__init__.py"))
    return {
        package.relative_to(ROOT).as_posix(): sorted(
            {path.stem for path in package.glob("*.py")} - {"__init__"}
        )
        for package in packages
    }


def test_the_map_names_every_folder_and_every_module() -> None:
    rows = re.findall(r"^\| `([^`]+)/` \|[^|]+\|([^|]*)\|$", PAGE, re.M)
    named = {folder: re.findall(r"`([^`]+)`", modules) for folder, modules in rows}
    assert len(named) == len(rows)
    assert named == folders()


def test_every_folder_says_what_it_holds() -> None:
    inits = [ROOT / folder / "__init__.py" for folder in folders()]
    assert [str(i) for i in inits if not ast.get_docstring(ast.parse(i.read_text(encoding="utf-8")))] == []
