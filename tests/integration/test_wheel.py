"""The wheel holds what an installation needs, and finds it; a foreign room is named."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def run(site: Path, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter that sees `site` before the checkout."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_migrations_are_found_inside_the_wheel_and_beside_the_checkout(installed, tmp_path):
    code = "from ontology.migrations import migrations_folder; print(migrations_folder())"
    inside = run(installed, code, tmp_path)
    assert inside.stdout.strip() == str(installed / "labelgrove" / "_migrations"), inside.stderr
    beside = run(CHECKOUT, code, tmp_path)
    assert beside.stdout.strip() == str(CHECKOUT / "migrations"), beside.stderr
    for folder in (installed / "labelgrove" / "_migrations", CHECKOUT / "migrations"):
        assert list(folder.glob("cypher/*/V0001__*.cypher"))
        assert list(folder.glob("sql/versions/0001*.py"))


def test_an_installed_wheel_runs_a_job_on_the_embedded_default(installed, tmp_path):
    code = (
        "from labelgrove import LabelGraph, Workspace, register\n"
        "from workers.client import build_bundle_job\n"
        "graph = LabelGraph.from_edges([('oak', 'tree'), ('elm', 'tree')])\n"
        "with Workspace.open() as workspace:\n"
        "    register(workspace, 'trees', graph)\n"
        "    print(build_bundle_job(workspace, 'trees', 'all', ['oak', 'elm']).state)\n"
    )
    done = run(installed, code, tmp_path)
    assert done.stdout.strip() == "done", done.stderr


def test_a_report_is_written_by_an_installed_wheel(installed, tmp_path):
    assert (installed / "labelgrove" / "report" / "page.css").exists()
    code = (
        "from labelgrove import Adapter, LabelGraph, evaluate\n"
        "from labelgrove.report import Origin, evaluation_report, to_html\n"
        "graph = LabelGraph.from_edges([('oak', 'tree'), ('elm', 'tree')])\n"
        "found = evaluate(Adapter.from_graph(graph, ['oak', 'elm']), [[0.5, 0.5]], ['tree'])\n"
        "print('.verdict' in to_html(evaluation_report(found, Origin('here', {}))))\n"
    )
    done = run(installed, code, tmp_path)
    assert done.stdout.strip() == "True", done.stderr


def test_py_typed_and_queries_are_shipped(installed):
    for package in ("labelgrove", "ontology", "workers", "adapter"):
        assert (installed / package / "py.typed").exists()
    assert list(installed.glob("ontology/graph/queries/*/*.cypher"))


@pytest.mark.parametrize("room", ["ontology", "workers", "adapter"])
def test_a_foreign_room_earlier_on_the_path_is_named(room, tmp_path):
    (tmp_path / f"{room}.py").write_text("")
    code = f"sys.path.insert(0, {str(tmp_path)!r})\nimport labelgrove"
    done = run(CHECKOUT, code, tmp_path)
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert str(tmp_path / f"{room}.py") in done.stderr
