"""What the import contracts in pyproject.toml cannot say about who imports what.

Imports are read from the source, so lazy imports inside functions count like any other.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("labelgrove", "workers", "adapter", "ontology")

GEOMETRY_MAY_IMPORT = (
    "labelgrove.ontology.canonical",  # where lengths of edges are judged, for graphs and spaces alike
    "labelgrove.ontology.errors",
    "labelgrove.ontology.geometry",
    "labelgrove.ontology.keys",
    "labelgrove.ontology.labelgraph",
    "labelgrove.ontology.lazynames",
)


def sources(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yield every module that the file imports when it runs; what only a type checker sees is left out."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"), str(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; name the module in full"
            assert node.module is not None
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (f if _is_module(f) else node.module for f in found)
        waiting.extend(ast.iter_child_nodes(node))


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.removeprefix("labelgrove.").split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def room_of(name: str) -> str | None:
    """Return the room that a module of ours stands in."""
    house, _, rest = name.partition(".")
    room = rest.partition(".")[0]
    return (room if room in ROOMS else house) if house == "labelgrove" else None


def within(name: str, allowed: tuple[str, ...]) -> bool:
    return any(name == a or name.startswith(f"{a}.") for a in allowed)


LOADS_CODE = ("scoring/background.py", "scoring/kernelloading.py", "kernels/codefiles.py")
"""Modules that keep compiled code in files and load it in threads; all others are arithmetic."""

LOCKS_FILES = ("labelgrove.ontology.store.posix", "labelgrove.ontology.store.wholefile")


def loads_code(path: Path) -> bool:
    return path.as_posix().endswith(tuple(f"ontology/geometry/{name}" for name in LOADS_CODE))


def test_geometry_imports_labels_and_errors_alone():
    wrong = [
        (str(p), m)
        for p in sources("ontology/geometry")
        for m in imported(p)
        if room_of(m) == "ontology"
        and not within(m, GEOMETRY_MAY_IMPORT)
        and not (loads_code(p) and within(m, LOCKS_FILES))
    ]
    assert wrong == []


def test_geometry_reads_no_environment():
    wrong = [
        str(p)
        for p in sources("ontology/geometry")
        if {"os", "dotenv"} & set(imported(p)) and not loads_code(p)
    ]
    assert wrong == []


def test_click_stays_in_the_command_line():
    wrong = [
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in sources(room)
        if "click" in {name.partition(".")[0] for name in imported(path)}
        and not path.relative_to(ROOT).as_posix().startswith("labelgrove/cli/")
    ]
    assert wrong == []


STANDARD_LIBRARY_ALONE = ("errors", "extras", "scopes", "settings", "spelling")


@pytest.mark.parametrize("module", STANDARD_LIBRARY_ALONE)
def test_settings_and_errors_need_the_standard_library_alone(module):
    import sys

    ours = {"__future__", *(f"labelgrove.ontology.{other}" for other in STANDARD_LIBRARY_ALONE)}
    outside = [
        name
        for name in imported(ROOT / "ontology" / f"{module}.py")
        if name.partition(".")[0] not in sys.stdlib_module_names and name not in ours
    ]
    assert outside == []


def test_nothing_is_pickled():
    wrong = [
        (str(path), name)
        for room in ROOMS
        for path in sources(room)
        for name in imported(path)
        if name.partition(".")[0] in ("pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal")
    ]
    assert wrong == []


def test_lazy_imports_inside_functions_are_seen(tmp_path):
    """The scan itself: it must see what it is there to forbid, and nothing that only a type checker sees."""
    path = tmp_path / "example.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import redis\nelse:\n    import numba\n"
        "def f():\n"
        "    import neo4j.exceptions\n"
        "    from labelgrove.ontology.sql import catalog\n"
        "    from labelgrove.ontology.errors import InputError\n"
    )
    assert sorted(imported(path)) == [
        "labelgrove.ontology.errors",
        "labelgrove.ontology.sql.catalog",
        "neo4j.exceptions",
        "numba",
        "typing",
    ]
