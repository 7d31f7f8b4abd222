"""What a plain install can do, with numpy alone: public names and modules work, or name the extra they need.

Every package but numpy and the standard library is blocked. What an extra brings is read from the metadata
that the build writes.
"""

import ast
import json
import re
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest

import labelgrove
from tests.architecture.test_fresh_imports import fresh
from tests.architecture.test_public_names import EVERY_MODULE, ROOMS

ROOT = Path(__file__).parents[2]
ALONE = ("numpy", "labelgrove")

COMMON = """
import json, tempfile
from pathlib import Path
import numpy as np
import labelgrove as lg
from labelgrove.ontology.errors import MissingExtraError

def tell(name, action):
    try:
        action()
    except MissingExtraError as error:
        print(json.dumps([name, error.name, str(error)]))
    else:
        print(json.dumps([name, None, "works"]))
"""

SETTING = """
tree = lg.LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
dag = lg.LabelGraph.from_edges([("oak", "tree"), ("oak", "wood"), ("tree", "plant"), ("wood", "plant")])
space, keys, weights = lg.metric_space(tree), ["oak", "elm", "moss"], [0.5, 0.3, 0.2]
points = lg.EuclideanSpace(np.array([[0.0], [1.0], [3.0]]), ["a", "b", "c"])
adapter = lg.Adapter.from_graph(tree, keys)
logits = lg.Adapter.from_graph(tree, keys, outputs="logits")
P, truth = np.array([weights] * 20), ["tree", "moss"] * 10
graph = lg.GraphSpace(dag)
labels = ["plant", "oak", "wood"]
leaves = lg.metric_space(tree, labels="leaves")
ring = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=np.float64)
square = lg.MatrixSpace(ring, list("abcd"))
file = Path(tempfile.mkdtemp()) / "x.csv"
file.write_text("parent,child\\nplant,tree\\ntree,oak\\ntree,elm\\n")
"""

USES = {
    "Adapter": "adapter.top_k(P, 2), adapter.decision_function(P), adapter.explain(P[0])",
    "Bundle": "adapter.bundle.save(file.with_suffix('.st')), lg.open_bundle(file.with_suffix('.st'))",
    "CompleteSpace": "lg.CompleteSpace(['a', 'b']).distances()",
    "Cover": "lg.Cover",
    "EuclideanSpace": "points.distances()",
    "FrechetClassifier": "lg.FrechetClassifier",
    "FrechetResult": "lg.FrechetResult",
    "GraphSpace": "lg.GraphSpace(dag).distances()",
    "LabelGraph": "lg.LabelGraph.grid((3, 3)).digest, dag.components, lg.LabelGraph.complete(4)",
    "Locus": "lg.Locus",
    "MatrixSpace": "lg.MatrixSpace(space.distances(), space.keys).diameter()",
    "Selection": "lg.Selection",
    "Summary": "lg.Summary",
    "TreeSpace": "lg.TreeSpace.from_arrays(list('abc'), [-1, 0, 0]).distances(), space.diameter()",
    "Workspace": "lg.Workspace.open().catalog",
    "evaluate": "lg.evaluate(adapter, P, truth)",
    "expand": "lg.expand(lg.summarize(tree, 2), 0)",
    "fit_temperature": "lg.fit_temperature(np.log(P), ['oak', 'elm'] * 10, columns=keys)",
    "frechet_mean": "lg.frechet_mean(space, keys, weights), lg.frechet_mean(points, ['a', 'c'], [1, 1])",
    "frechet_mean_set": "lg.frechet_mean_set(space, keys, weights)",
    "frechet_variance": "lg.frechet_variance(space, keys, weights)",
    "is_identifying_cover": "lg.is_identifying_cover(space, keys)",
    "is_locus_cover": "lg.is_locus_cover(space, keys)",
    "locus": "lg.locus(space, keys)",
    "locus_cover": "lg.locus_cover(space)",
    "metric_space": "lg.metric_space(tree, metric='tree', labels='leaves').distances()",
    "minimum_locus_cover": "lg.minimum_locus_cover(space)",
    "must_observe": "lg.must_observe(space)",
    "open_bundle": "lg.open_bundle",
    "phylogenetic_cover": "lg.phylogenetic_cover(lg.metric_space(tree, labels='leaves'))",
    "push": "lg.push(lg.summarize(tree, 2), keys)",
    "read": "lg.read(file).graph.leaves",
    "register": "lg.register",
    "sample_observed": "lg.sample_observed(space, 2, seed=0)",
    "select_classes": "lg.select_classes(space, ['oak'], 1)",
    "select_next": "lg.select_next(space, ['oak'])",
    "summarize": "lg.summarize(tree, 2)",
}
"""A use of each public name."""

ELSEWHERE = (
    "lg.Adapter.from_graph(dag, labels)",
    "lg.Adapter.from_graph(tree, keys, labels='leaves').predict(P)",
    "adapter.predict(P, candidates='locus')",
    "lg.frechet_mean(graph, labels, weights)",
    "lg.frechet_mean(space, keys, weights, beta=1)",
    "lg.frechet_mean(square, ['a', 'b'], [1, 2])",
    "lg.locus(graph, labels)",
    "lg.locus(leaves, ['oak', 'moss'])",
    "lg.locus(square, ['a', 'c'])",
    "lg.minimum_locus_cover(graph)",
    "lg.minimum_locus_cover(square)",
    "lg.minimum_locus_cover(leaves)",
    "lg.must_observe(square)",
    "lg.is_locus_cover(square, ['a', 'c'])",
    "lg.locus_cover(square, method='small')",
    "lg.phylogenetic_cover(square)",
    "lg.select_next(square, ['a'])",
    "lg.sample_observed(graph, 2, method='gibbs', seed=0)",
    "lg.sample_observed(space, 2, method='gibbs', seed=0)",
    "lg.summarize(dag, 2)",
    "lg.fit_temperature(P, truth, by='squared_distance', adapter=logits)",
)
"""Uses in other spaces, and by other rules."""

NEED_NUMPY_ALONE = {
    "Adapter",
    "Bundle",
    "LabelGraph",
    "TreeSpace",
    "evaluate",
    "frechet_mean",
    "locus",
    "read",
}
"""What docs and README promise to work on a plain install."""


@cache
def extras() -> dict[str, set[str]]:
    """Return the distributions that each extra brings, by the metadata that the build writes."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = json.loads(done.stdout)["optional-dependencies"]
    return {
        extra: {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in requirements}
        for extra, requirements in listed.items()
    }


def told(code: str) -> dict[str, str | None]:
    """Return what each name needs: a package, or None; what a message says of its extra is checked."""
    found = {}
    for line in fresh(COMMON + code, (), alone=ALONE).splitlines():
        name, package, message = json.loads(line)
        found[name] = package
        if package is not None:
            extra = re.search(r"of the extra '(\w+)'; install it with: pip install ", message)[1]
            assert package in extras()[extra], message
    return found


def test_every_public_name_works_or_names_the_extra_that_brings_what_it_needs(tmp_path):
    assert list(USES) == sorted(USES)
    assert set(USES) == set(labelgrove.__all__)
    uses = USES | dict(zip(ELSEWHERE, ELSEWHERE, strict=True))
    home = f"import os\nos.environ['GROVE_HOME'] = {str(tmp_path)!r}\n"
    found = told(home + SETTING + "\n".join(f"tell({n!r}, lambda: ({use}))" for n, use in uses.items()))
    assert set(found) == set(uses)
    assert {name for name in NEED_NUMPY_ALONE if found[name] is not None} == set()
    assert found["Workspace"] == "sqlalchemy"  # the block is one, and what needs more says so
    assert found["FrechetClassifier"] == "scikit-learn"


def test_every_module_is_imported_or_names_the_extra_that_brings_what_it_needs():
    uses = "\n".join(f"tell({name!r}, lambda: __import__({name!r}))" for name in EVERY_MODULE)
    found = told(uses)
    assert list(found) == EVERY_MODULE
    assert {
        found[name] for name in EVERY_MODULE if name.startswith(("labelgrove.workers", "labelgrove.cli."))
    } == {
        "sqlalchemy",
        "click",
    }
    for name in EVERY_MODULE:
        if name.startswith(("labelgrove.ontology.readers", "labelgrove.report")):
            assert found[name] == ("pyoxigraph" if name.endswith(".rdf.triples") else None), name


def test_every_format_is_read_with_numpy_alone(tmp_path):
    files = {
        "x.csv": "parent,child,weight\na,b,1\na,c,2\nb,d,1\nc,d,1\n",
        "loop.tsv": "a\tb\nb\tc\nc\tb\n",
        "tree.json": '{"name": "a", "children": [{"name": "b"}, {"name": "c"}]}',
        "outline.txt": "a\n  b\n    c\n  d\n",
        "classes.txt": "beasts\tdog, cat\nplants\toak, elm\n",
        "lshtc.txt": "1 2\n1 3\n2 4\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    code = f"""
    for name in {sorted(files)!r}:
        found = lg.read(Path({str(tmp_path)!r}) / name, policies={{"all": "fix"}})
        print(json.dumps([name, None, found.graph.digest]))
    """
    assert list(told(textwrap.dedent(code))) == sorted(files)


@pytest.mark.parametrize("room", ROOMS)
def test_every_message_names_an_extra_that_brings_the_package(room):
    """Also where no test above comes by."""
    pairs = [
        (node.args[0].value, node.args[1].value)
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("MissingExtraError.of")
        and isinstance(node.args[0], ast.Constant)
    ]
    assert pairs, room
    assert [(package, extra) for package, extra in pairs if package not in extras()[extra]] == []


def test_geometry_needs_no_server_and_no_driver():
    assert extras()["science"] == {"highspy", "numba", "safetensors", "scipy"}
    assert extras()["science"] < extras()["service"] < extras()["demo"]
