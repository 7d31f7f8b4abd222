"""The wheel holds what an installation needs, and finds it, whatever else is called like its rooms."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).parents[2]


def built(target: str, folder: Path) -> Path:
    """Build a wheel of the checkout, and return the folder into which its files were unpacked."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("wheel"))


def run(site: Path, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter that sees `site`, and what ``.pth`` files add, before all else."""
    see = (
        "import site, sys; known = list(sys.path); sys.path.clear(); "
        f"site.addsitedir({str(site)!r}); sys.path.extend(known)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", see + code],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_migrations_are_found_inside_the_wheel_and_beside_the_checkout(installed, tmp_path):
    code = "from labelgrove.ontology.packagedfiles import migrations_folder; print(migrations_folder())"
    inside = run(installed, code, tmp_path)
    assert inside.stdout.strip() == str(installed / "labelgrove" / "_migrations"), inside.stderr
    beside = run(CHECKOUT, code, tmp_path)
    assert beside.stdout.strip() == str(CHECKOUT / "migrations"), beside.stderr
    for folder in (installed / "labelgrove" / "_migrations", CHECKOUT / "migrations"):
        assert list(folder.glob("cypher/*/V0001__*.cypher"))
        assert list(folder.glob("sql/versions/0001*.py"))


A_JOB = """
import labelgrove
from labelgrove import LabelGraph, Workspace, register
from labelgrove.workers.client import build_bundle_job
graph = LabelGraph.from_edges([('oak', 'tree'), ('elm', 'tree')])
with Workspace.open() as workspace:
    register(workspace, 'trees', graph)
    print(build_bundle_job(workspace, 'trees', 'all', ['oak', 'elm']).state, labelgrove.__file__)
"""


@pytest.mark.parametrize("how", ["wheel", "editable", "checkout"])
def test_a_job_runs_beside_a_users_own_modules_of_the_names_of_the_rooms(how, installed, tmp_path):
    site, home = {
        "wheel": lambda: (installed, installed),
        "editable": lambda: (built("wheel:editable", tmp_path / "editable"), CHECKOUT),
        "checkout": lambda: (CHECKOUT, CHECKOUT),
    }[how]()
    (tmp_path / "adapter.py").write_text("raise RuntimeError('this is the adapter of a plug')")
    (tmp_path / "ontology").mkdir()
    (tmp_path / "ontology" / "__init__.py").write_text("raise RuntimeError('this is about being')")
    (tmp_path / "workers.py").write_text("raise RuntimeError('these are bees')")
    done = run(site, f"sys.path.insert(0, {str(tmp_path)!r})\n{A_JOB}", tmp_path)
    assert done.stdout.split() == ["done", str(home / "labelgrove" / "__init__.py")], done.stderr


def test_one_name_is_installed(installed):
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {"labelgrove"}


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
    assert (installed / "labelgrove" / "py.typed").exists()
    assert list(installed.glob("labelgrove/ontology/graph/queries/*/*.cypher"))
