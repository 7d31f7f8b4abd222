"""Scoring, readers and reports work where there is no POSIX; what needs one says so in a line.

Windows is played: its modules are all that is there, ``os`` and ``signal`` lack what they lack there, and
``sys.platform`` says ``win32``. The standard library is loaded before, as it would be another one there.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.architecture.test_bare_install import ALONE, EVERY_MODULE
from tests.architecture.test_fresh_imports import fresh
from tests.architecture.test_rooms import ROOMS, sources

ROOT = Path(__file__).parents[2]

POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
"""Modules of the standard library that Windows lacks."""

POSIX_NAMES = {
    "os": {
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "chown",
        "fchmod",
        "fork",
        "getpgid",
        "getuid",
        "geteuid",
        "killpg",
        "mkfifo",
        "pread",
        "pwrite",
        "register_at_fork",
        "sched_getaffinity",
        "setsid",
        "statvfs",
        "uname",
    },
    "signal": {
        "SIGALRM",
        "SIGCHLD",
        "SIGHUP",
        "SIGKILL",
        "SIGQUIT",
        "SIGUSR1",
        "SIGUSR2",
        "SIGXCPU",
        "SIGXFSZ",
    },
    "time": {"clock_gettime", "tzset"},
}
"""What else it lacks, by module."""

HOMES = {
    "fcntl": {"ontology/store/posix.py"},
    "resource": {
        "labelgrove/cli/doctor.py",
        "labelgrove/service/connections.py",
        "ontology/graph/userqueries/sandbox.py",
    },
    "os.O_DIRECTORY": {"ontology/store/wholefile.py"},
    "os.geteuid": {"ontology/geometry/kernels/codefiles.py"},
    "os.getuid": {"labelgrove/cli/options/workspace.py"},
    "os.register_at_fork": {
        "ontology/geometry/scoring/kernelloading.py",
        "ontology/graph/embedded/graphfile.py",
        "workers/app.py",
        "workers/running/metricsport.py",
    },
    "os.sched_getaffinity": {"labelgrove/service/scoring/cores.py"},
    "signal.SIGALRM": {"ontology/graph/userqueries/sandbox.py"},
    "signal.SIGXCPU": {"ontology/graph/userqueries/sandbox.py"},
    "signal.SIGXFSZ": {"ontology/graph/userqueries/sandbox.py"},
}
"""Where each stands, always inside a function."""

WINDOWS = f"""
import asyncio, ctypes, email, html, http.client, importlib.metadata, logging, mmap, multiprocessing, os
import platform, queue, secrets, shutil, signal, socket, ssl, subprocess, sys, tempfile, time
import urllib.request, uuid, zipfile
import numpy, numpy.lib.format, numpy.random
for name in {POSIX_MODULES!r}:
    sys.modules[name] = None
for module, names in {POSIX_NAMES!r}.items():
    for name in names:
        sys.modules[module].__dict__.pop(name, None)
sys.platform = "win32"
"""


def posix_uses(path: Path) -> Iterator[tuple[str, int | None]]:
    """Yield what a file uses of POSIX alone, with its line where that is run when the file is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for part in (function.body if isinstance(function.body, list) else [function.body])
        for node in ast.walk(part)
    }
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names if alias.name.partition(".")[0] in POSIX_MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module in POSIX_MODULES:
                found = [node.module]
            lacking = POSIX_NAMES.get(node.module, set())
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name in lacking]
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in POSIX_NAMES.get(node.value.id, set())
        ):
            found = [f"{node.value.id}.{node.attr}"]
        yield from ((name, None if id(node) in inside else node.lineno) for name in found)


@pytest.mark.parametrize("room", ROOMS)
def test_what_only_posix_has_stands_inside_functions_of_its_homes(room):
    wrong = [
        (path.relative_to(ROOT).as_posix(), name, line)
        for path in sources(room)
        for name, line in posix_uses(path)
        if line is not None or path.relative_to(ROOT).as_posix() not in HOMES.get(name, set())
    ]
    assert wrong == []


def test_every_home_is_one():
    found = {
        (name, path.relative_to(ROOT).as_posix())
        for room in ROOMS
        for path in sources(room)
        for name, _ in posix_uses(path)
    }
    assert found == {(name, home) for name, homes in HOMES.items() for home in homes}


def test_the_scan_sees_what_it_is_there_to_forbid(tmp_path):
    path = tmp_path / "example.py"
    path.write_text(
        "import fcntl\nfrom os import fork\nimport os, signal\nSTOP = signal.SIGKILL\n"
        "def f(flags=os.O_NONBLOCK):\n    import resource\n    return os.getuid()\n"
    )
    assert sorted(posix_uses(path), key=str) == [
        ("fcntl", 1),
        ("os.O_NONBLOCK", 5),
        ("os.fork", 2),
        ("os.getuid", None),
        ("resource", None),
        ("signal.SIGKILL", 4),
    ]


def test_every_module_that_needs_numpy_alone_is_imported_on_windows():
    """And what needs an extra says so there as well: nothing trips over a name that is missing."""
    code = f"""
    import importlib, json
    from labelgrove.ontology.errors import MissingExtraError
    needing = []
    for name in {EVERY_MODULE!r}:
        try:
            importlib.import_module(name)
        except MissingExtraError:
            needing.append(name)
    print(json.dumps(needing))
    """
    needing = json.loads(fresh(WINDOWS + dedent(code), (), alone=ALONE))
    promised = (
        r"adapter(\.(?!classfolds|mlflow|onnx|sklearn|torch).*)?|labelgrove(\.report.*)?|"
        r"ontology(\.(readers.*|labelgraph|artifacts|geometry))?"
    )
    assert [name for name in needing if re.fullmatch(promised, name)] == []


def test_files_are_read_scored_and_reported_on_windows(tmp_path):
    (tmp_path / "plants.csv").write_text("parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n")
    code = f"""
    import os
    from pathlib import Path
    import numpy as np
    os.environ["GROVE_HOME"] = {str(tmp_path / "home")!r}
    from labelgrove import Adapter, evaluate, read
    from labelgrove.report import Origin, evaluation_report, to_html
    from labelgrove.ontology.store.artifacts import open_store

    folder = Path({str(tmp_path)!r})
    adapter = Adapter.from_graph(read(folder / "plants.csv").graph, ["oak", "elm", "moss"])
    P = np.array([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]] * 10)
    adapter.save_pretrained(folder / "saved")
    assert Adapter.from_pretrained(folder / "saved").predict(P) == adapter.predict(P)
    store = open_store(str(folder / "artifacts"))
    digest = store.put_arrays(*adapter.bundle.to_arrays())
    store.write_index("plants", {{"bundles": {{"one": {{"sha256": digest}}}}}})
    loaded = Adapter.load("plants/one", artifacts_url=store.where)
    np.save(folder / "P.npy", P)
    found = evaluate(loaded, np.load(folder / "P.npy", mmap_mode="r"), ["tree", "moss"] * 10)
    print(loaded.predict(P)[:2], "verdict" in to_html(evaluation_report(found, Origin("here", {{}}))))
    """
    assert fresh(WINDOWS + dedent(code), (), alone=ALONE) == "['tree', 'moss'] True\n"


@pytest.mark.parametrize(
    ("use", "purpose"),
    [
        ("from labelgrove.ontology.versions.workspace import Workspace; Workspace.open()", "a workspace"),
        ("from labelgrove.ontology.store.posix import try_lock; try_lock(0)", "a lock on a file"),
        (
            "from labelgrove.ontology.graph.userqueries.sandbox import run; "
            "run('', {}, '', {}, timeout_s=1, max_rows=1)",
            "a Cypher query",
        ),
    ],
)
def test_the_rest_says_in_a_line_that_it_needs_linux_or_macos(use, purpose):
    code = f"""
    from labelgrove.ontology.errors import PlatformError
    try:
        {use}
    except PlatformError as error:
        print(error)
    """
    said = fresh(WINDOWS + dedent(code), (), alone=ALONE)
    assert said == f"{purpose} needs Linux or macOS; scoring, readers and reports work on every system\n"


def test_the_command_line_says_so_too():
    code = """
    import contextlib, io, sys
    sys.argv = ["grove", "ontology", "list"]
    import labelgrove.cli.ontologies
    import labelgrove.ontology.versions.workspace
    sys.modules["fcntl"] = None
    from labelgrove.__main__ import main
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            main()
    except SystemExit as end:
        print(end.code, said.getvalue())
    """
    said = fresh(code, ())
    assert said.startswith("1 ")
    assert "a workspace needs Linux or macOS; " in said
    assert said.count("\n") == 2  # the line, and that of print
