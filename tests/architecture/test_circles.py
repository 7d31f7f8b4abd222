"""No module and no folder needs another that needs it in turn, imports inside functions included.

Imports for type checkers alone do not count. Nor do arrows from and to an `__init__` that only hands out
names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
ROOMS = ("adapter", "ontology", "workers")


def _name(path: Path) -> str:
    parts = (path.parent if path.name == "__init__.py" else path.with_suffix("")).relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "labelgrove" else ("labelgrove", *parts))


def _hands_out_names(path: Path) -> bool:
    """Whether the file is an `__init__` that defines no function and no class."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.name == "__init__.py" else None
    return body is not None and not any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body)


MODULES = {
    _name(path): path
    for top in (*ROOMS, "labelgrove")
    for path in (ROOT / top).rglob("*.py")
    if not (top == "labelgrove" and path.relative_to(ROOT).parts[1] in ROOMS) and not _hands_out_names(path)
}


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield every module that may be meant by an import below `node`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            for alias in child.names:
                inner = f"{child.module}.{alias.name}"
                yield inner if inner in MODULES else child.module
        elif not _for_type_checkers(child):
            yield from _imported(child)


def _arrows() -> nx.DiGraph:
    arrows = nx.DiGraph()
    for name, path in MODULES.items():
        found = set(_imported(ast.parse(path.read_text(encoding="utf-8"))))
        arrows.add_edges_from((name, other) for other in found & MODULES.keys() - {name})
    return arrows


def _folder(module: str) -> str:
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def _circles(arrows: nx.DiGraph) -> list[list[str]]:
    return [sorted(circle) for circle in nx.strongly_connected_components(arrows) if len(circle) > 1]


def test_the_arrows_are_found():
    arrows = _arrows()
    assert arrows.number_of_nodes() > 300
    assert arrows.number_of_edges() > 1000
    assert nx.has_path(arrows, "labelgrove.cli.doctor", "labelgrove.ontology.errors")


def test_modules_stand_in_no_circle():
    assert _circles(_arrows()) == []


def test_folders_stand_in_no_circle():
    """A folder and those inside it may need each other: they are one subject."""
    pairs = {(_folder(a), _folder(b)) for a, b in _arrows().edges}
    apart = [(a, b) for a, b in pairs if not f"{a}.".startswith(f"{b}.") and not f"{b}.".startswith(f"{a}.")]
    assert _circles(nx.DiGraph(apart)) == []
