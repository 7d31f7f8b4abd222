"""Which room may import what, read from the source: lazy imports inside functions count like any other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("labelgrove", "workers", "adapter", "ontology")

HOMES = {
    "neo4j": {
        "ontology/graph/neo4j/__init__.py",
        "ontology/graph/neo4j/neo4jengine.py",
        "ontology/graph/neo4j/server.py",
    },
    "ladybug": {"ontology/graph/embedded/ladybugfile.py"},
    "redis": {"adapter/loading/rediscache.py", "workers/celery_transport/broker_check.py"},
    "celery": {
        "workers/app.py",
        "workers/celery_transport/children.py",
        "workers/celery_transport/events.py",
        "workers/celery_transport/tasks.py",
        "workers/celery_transport/transport.py",
    },
    "kombu": {"workers/app.py", "workers/celery_transport/tasks.py", "workers/celery_transport/transport.py"},
    "sqlalchemy": {
        "ontology/sql/database.py",
        "ontology/sql/catalog.py",
        "ontology/sql/garbage.py",
        "workers/upkeep/backup.py",
        "workers/ledger/ledger.py",
        "workers/ledger/statements.py",
        "workers/running/metrics.py",
        "workers/running/presence.py",
        "workers/ledger/records.py",
        "workers/upkeep/references.py",
        "workers/upkeep/restore.py",
        "workers/upkeep/retention.py",
        "workers/schedules/schedule.py",
        "workers/ledger/publications.py",
        "workers/ledger/schema.py",
    },
    "alembic": {"ontology/sql/database.py"},
    "prometheus_client": {"workers/running/metrics.py"},
    "fsspec": {"ontology/store/remotefolder.py"},
    "networkx": {"labelgrove/datasets/randomgraphs.py"},
}
"""The only files that may import each driver."""

ADAPTER_MAY_IMPORT = (
    "labelgrove.ontology.store.artifacts",
    "labelgrove.ontology.store.disk_faults",
    "labelgrove.ontology.store.localfolder",
    "labelgrove.ontology.errors",
    "labelgrove.ontology.extras",
    "labelgrove.ontology.lazynames",
    "labelgrove.ontology.geometry",
    "labelgrove.ontology.keys",
    "labelgrove.ontology.labelgraph",
    "labelgrove.ontology.store.posix",
    "labelgrove.ontology.store.remote_faults",
    "labelgrove.ontology.store.safetensors_file",
    "labelgrove.ontology.settings",
    "labelgrove.ontology.spelling",
    "labelgrove.ontology.store.wholefile",
)
GEOMETRY_MAY_IMPORT = (
    "labelgrove.ontology.canonical",  # where lengths of edges are judged, for graphs and spaces alike
    "labelgrove.ontology.errors",
    "labelgrove.ontology.geometry",
    "labelgrove.ontology.keys",
    "labelgrove.ontology.labelgraph",
    "labelgrove.ontology.lazynames",
)
WORKERS_MAY_IMPORT_OF_ADAPTER = (
    "labelgrove.adapter.bundles.bundle",
    "labelgrove.adapter.loading.cache",
    "labelgrove.adapter.evaluation",
    "labelgrove.adapter.loading.fetching",
    "labelgrove.adapter.loading.rediscache",
    "labelgrove.adapter.outputs.opening",
    "labelgrove.adapter.outputs.outputfiles",
    "labelgrove.adapter.scorer",
    "labelgrove.adapter.loading.source",
    "labelgrove.adapter.outputs.truthfile",
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


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_between_rooms_go_down_only(room):
    above = ROOMS[: ROOMS.index(room)]
    wrong = [(str(p), m) for p in sources(room) for m in imported(p) if room_of(m) in above]
    assert wrong == []
    assert sources(room), f"{room} has no source files: is the checkout complete?"


def test_the_adapter_reaches_only_the_arithmetic_side_of_ontology():
    wrong = [
        (str(p), m)
        for p in sources("adapter")
        for m in imported(p)
        if room_of(m) == "ontology" and not within(m, ADAPTER_MAY_IMPORT)
    ]
    assert wrong == []


def test_geometry_imports_labels_and_errors_alone():
    wrong = [
        (str(p), m)
        for p in sources("ontology/geometry")
        for m in imported(p)
        if room_of(m) == "ontology" and not within(m, GEOMETRY_MAY_IMPORT)
    ]
    assert wrong == []


def test_geometry_reads_no_environment():
    wrong = [str(p) for p in sources("ontology/geometry") if {"os", "dotenv"} & set(imported(p))]
    assert wrong == []


def test_workers_reach_only_bundles_and_evaluation_of_the_adapter():
    wrong = [
        (str(p), m)
        for p in sources("workers")
        for m in imported(p)
        if room_of(m) == "adapter" and not within(m, WORKERS_MAY_IMPORT_OF_ADAPTER)
    ]
    assert wrong == []


@pytest.mark.parametrize("driver", HOMES)
def test_each_driver_has_one_home(driver):
    strangers = {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in sources(room)
        if driver in {name.partition(".")[0] for name in imported(path)}
    } - HOMES[driver]
    assert strangers == set()


def test_click_stays_in_the_command_line():
    wrong = [
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in sources(room)
        if "click" in {name.partition(".")[0] for name in imported(path)}
        and not path.relative_to(ROOT).as_posix().startswith("labelgrove/cli/")
    ]
    assert wrong == []


STANDARD_LIBRARY_ALONE = ("errors", "extras", "settings", "spelling")


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
