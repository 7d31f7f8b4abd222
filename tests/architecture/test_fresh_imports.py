"""What importing a room needs: each case runs in an interpreter of its own, with names blocked."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]

DRIVERS = ("alembic", "celery", "kombu", "ladybug", "neo4j", "psycopg", "pyarrow", "redis", "sqlalchemy")
OPTIONAL = (
    "click",
    "dotenv",
    "fsspec",
    "highspy",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "rich",
    "safetensors",
    "scipy",
    "sklearn",
    "torch",
)

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        top, alone = name.partition(".")[0], {alone!r}
        if top in {names!r} or (alone and top not in sys.stdlib_module_names | alone):
            raise ImportError(f"{{name}} is blocked: it must not be imported here")
        return None
sys.meta_path.insert(0, Blocked())
"""


def fresh(code: str, blocked: tuple[str, ...], *arguments: str, alone: tuple[str, ...] = ()) -> str:
    """Run `code` with the names blocked and return what it printed; any fault fails the test.

    With `alone`, everything but these and the standard library is blocked.
    """
    program = BLOCK.format(names=set(blocked), alone=set(alone)) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_block_itself_works():
    with pytest.raises(AssertionError, match="scipy is blocked"):
        fresh("import scipy.sparse", OPTIONAL)
    with pytest.raises(AssertionError, match="click is blocked"):
        fresh("import labelgrove.adapter, numpy, safetensors, click", (), alone=MODEL_SERVER)


@pytest.mark.parametrize(
    "module",
    [
        "labelgrove.adapter",
        "labelgrove",
        "labelgrove.ontology",
        "labelgrove.ontology.geometry",
        "labelgrove.ontology.labelgraph",
        "labelgrove.ontology.store.artifacts",
    ],
)
def test_a_room_is_imported_with_numpy_alone(module):
    fresh(f"import {module}", DRIVERS + OPTIONAL)


@pytest.mark.parametrize(
    "module",
    [
        "labelgrove.ontology.settings",
        "labelgrove.ontology.errors",
        "labelgrove.ontology",
        "labelgrove.adapter",
        "labelgrove",
    ],
)
def test_a_room_is_imported_without_even_numpy(module):
    fresh(f"import {module}", (*DRIVERS, *OPTIONAL, "numpy"))


def test_the_command_line_needs_nothing_of_the_http_service_and_says_so_when_it_is_asked_for():
    web = ("fastapi", "jinja2", "limits", "starlette", "uvicorn")
    code = """
    from click.testing import CliRunner
    from labelgrove.cli import COMMANDS, grove
    for name in COMMANDS:
        assert CliRunner().invoke(grove, [name, "--help"]).exit_code == 0, name
    done = CliRunner().invoke(grove, ["serve"])
    print(done.exit_code, done.output)
    """
    said = fresh(code, web)
    assert said.startswith("1 ")
    assert "the HTTP service needs the package 'fastapi' of the extra 'web'" in said


def test_a_worker_without_a_broker_starts_without_celery():
    """It begins in much less time, and beside the HTTP service it begins at each start."""
    fresh("import labelgrove.workers.worker", ("alembic", "celery", "kombu", "redis"))


def test_the_service_starts_without_what_few_requests_need():
    code = """
    import labelgrove.service.running
    few = ("labelgrove.ontology.graph", "labelgrove.ontology.readers", "labelgrove.report")
    print([name for name in few if name in sys.modules])
    """
    heavy = ("alembic", "celery", "highspy", "matplotlib", "networkx", "numba", "pandas", "scipy", "sklearn")
    assert fresh(code, heavy) == "[]\n"


SCORE = """
import sys
import numpy as np
from labelgrove import adapter

uri, store = sys.argv[1:]
loaded = adapter.Adapter.load(uri, ["moss", "oak", "elm"], artifacts_url=store)
P = np.array([[0.2, 0.4, 0.4], [0.9, 0.1, 0.0]], dtype=np.float32)
print(loaded.predict(P), loaded.top_k(P, 2).keys, loaded.decision_function(P).shape)
if loaded.space is not None:
    print(adapter.evaluate(loaded, P, ["oak", "moss"])["frechet_mean"].all.n)
"""

PAIRS = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]


def test_a_report_with_every_picture_of_an_evaluation_needs_numpy_alone():
    code = f"""
        from labelgrove.adapter import Adapter, evaluate
        from labelgrove.report import Origin, evaluation_report, to_html, to_json, to_markdown
        from labelgrove.report.simplex import regions_of
        from labelgrove.ontology import LabelGraph
        model = Adapter.from_graph(LabelGraph.from_edges({PAIRS}), ["oak", "elm", "moss"])
        found = evaluate(model, [[0.4, 0.3, 0.3], [0.1, 0.1, 0.8]] * 20, ["tree", "moss"] * 20)
        report = evaluation_report(found, Origin("here", {{}}), regions=regions_of(model))
        print(to_html(report).count("<figure>"), len(to_markdown(report)) > 1000, to_json(report)[0])
    """
    assert fresh(code, DRIVERS + OPTIONAL).split() == ["5", "True", "{"]


def test_experiments_run_without_matplotlib(tmp_path):
    pytest.importorskip("sklearn")
    code = """
    from labelgrove import Workspace
    from labelgrove.experiments import NAMES, load
    from labelgrove.ontology.settings import Settings
    from labelgrove.workers import client
    experiments = {name: load(name) for name in NAMES}
    with Workspace(Settings.from_env({"GROVE_HOME": sys.argv[1]})) as workspace:
        job = client.submit(workspace, "experiment", {"experiment": "complete-graph", "quick": True})
        print(client.list_jobs(workspace)[0].state)
    """
    assert fresh(code, ("matplotlib",), str(tmp_path)) == "done\n"


@pytest.mark.parametrize("kind", ["tree", "leaves", "block", "complete"])
def test_loading_and_scoring_need_numpy_alone(kind, tmp_path):
    graph = LabelGraph.from_edges(PAIRS)
    choice = {"leaves": {"labels": "leaves"}, "block": {"metric": "graph"}}.get(kind, {})
    if kind == "complete":
        from labelgrove.ontology.geometry import CompleteSpace

        graph = CompleteSpace(graph.keys)
    bundle = build_bundle(graph, ["oak", "elm", "moss"], **choice)
    path = tmp_path / "plants.safetensors"
    bundle.save(path)
    store = open_store(str(tmp_path / "artifacts"))
    digest = store.put_arrays(*bundle.to_arrays())
    store.write_index("plants", {"bundles": {"one": {"sha256": digest}}})
    answers = {
        fresh(SCORE, DRIVERS + OPTIONAL, uri, store.where) for uri in (str(path), digest, "plants/one")
    }
    assert len(answers) == 1
    if kind == "tree":
        assert answers.pop().startswith("['tree', 'moss']")


MODEL_SERVER = ("labelgrove", "numpy", "safetensors")

EVERY_ANSWER = """
import hashlib
import numpy as np
from labelgrove.adapter import Adapter, SparseOutputs

P = np.random.default_rng(1).integers(0, 9, (1_000, 12)).astype(np.float32) + np.eye(12)[0]
shuffle = np.random.default_rng(2).permutation(12)
for path in sys.argv[1:]:
    emitted = {"probabilities": P, "logits": P / 3, "log_probabilities": np.log(P / 100 + 1e-3)}
    for outputs, given in emitted.items():
        adapter = Adapter.load(path, outputs=outputs)
        columns = Adapter.load(path, [adapter.observed[i] for i in shuffle], outputs=outputs)
        sparse = SparseOutputs(np.tile(np.arange(12), (len(P), 1)), given)
        said = hashlib.sha256()
        for one, rows in ((adapter, given), (columns, given[:, shuffle]), (adapter, sparse)):
            best, some = one.top_k(rows, 1), one.top_k(rows, 3, candidates=one.keys[::3])
            for found in (best, some):
                said.update(found.indices.tobytes() + found.values.tobytes() + found.n_tied.tobytes())
            said.update(repr((best.keys, one.predict(rows))).encode())
        few = adapter.top_k(given[:50], 5)
        said.update(few.values.tobytes() + repr(few.keys).encode())
        said.update(adapter.decision_function(given[:300]).tobytes())
        said.update(adapter.predict_proba(given[:300]).tobytes())
        print(said.hexdigest(), adapter.explain(given[7]))
"""


def test_every_answer_of_a_model_server_is_that_of_a_full_installation(tmp_path):
    """Bit for bit, with numba and scipy at work in the one and nothing but numpy in the other."""
    rng = np.random.default_rng(3)
    pairs = [(f"v{i:03}", f"v{int(rng.integers(0, i)):03}") for i in range(1, 400)]
    crossed = [(f"v{i:03}", f"v{int(rng.integers(0, i)):03}") for i in range(1, 400, 3)]
    bundles = {
        "tree": build_bundle(LabelGraph.from_edges(pairs), [f"v{i:03}" for i in range(0, 396, 33)]),
        "leaves": build_bundle(
            LabelGraph.from_edges(pairs), [f"v{i:03}" for i in range(0, 396, 33)], labels="leaves"
        ),
        "dag": build_bundle(
            LabelGraph.from_edges(sorted({*pairs, *crossed})), [f"v{i:03}" for i in range(0, 396, 33)]
        ),
    }
    paths = []
    for name, bundle in bundles.items():
        assert bundle.kind == ("block" if name == "dag" else "tree")
        paths.append(str(tmp_path / f"{name}.safetensors"))
        bundle.save(paths[-1])
    alone = fresh(EVERY_ANSWER, (), *paths, alone=MODEL_SERVER)
    assert alone.count("runner-up") == 9
    assert fresh(f"import numba, scipy.sparse\n{EVERY_ANSWER}", (), *paths) == alone


def test_building_from_a_tree_needs_numpy_alone():
    code = f"""
    from labelgrove.adapter import Adapter
    from labelgrove.ontology import LabelGraph
    print(Adapter.from_graph(LabelGraph.from_edges({PAIRS!r}), ["oak", "elm"]).predict([[1, 1]]))
    """
    assert fresh(code, DRIVERS + OPTIONAL) == "['tree']\n"


def test_every_way_to_read_outputs_and_to_answer_needs_numpy_alone():
    code = f"""
    import numpy as np
    from labelgrove.adapter import Adapter, SparseOutputs, Subtree
    from labelgrove.ontology import LabelGraph
    graph = LabelGraph.from_edges({PAIRS!r})
    P = np.array([[0.5, 0.4, 0.1], [0.05, 0.05, 0.9]])
    for options in ({{}}, {{"beta": 1}}, {{"outputs": "log_probabilities"}}):
        adapter = Adapter.from_graph(graph, ["oak", "elm", "moss"], **options)
        given = np.log(P) if options.get("outputs") else P
        for candidates in (None, "leaves", "observed", Subtree("tree"), ["oak", "moss"], [["oak"], None]):
            print(adapter.top_k(given, 1, candidates=candidates).keys)
        print(adapter.back_off(given, 0.2).keys, adapter.predict_sets(given, threshold=0.3))
        print(adapter.predict(SparseOutputs([[0, 1, 2]] * 2, given)), adapter.explain(given[0]).answer)
        print(adapter.predict_proba(given).argmax(axis=1).tolist())
    print(Adapter.from_graph(graph, ["oak", "elm"]).predict([[1, 2]], candidates="locus"))
    """
    alone, with_all = fresh(code, DRIVERS + OPTIONAL), fresh(code, DRIVERS)
    assert alone == with_all
    assert alone.startswith("(('tree',), ('moss',))\n")


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    code = """
    from labelgrove.adapter import build_bundle
    from labelgrove.ontology import LabelGraph
    from labelgrove.ontology.errors import MissingExtraError
    try:
        build_bundle(LabelGraph.grid((2, 2)), ["0,0"])
    except MissingExtraError as error:
        print(error)
    """
    assert "[science]" in fresh(code, DRIVERS + OPTIONAL)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bundle", "--help"], ["score", "--help"]])
def test_grove_help_imports_no_driver(arguments):
    """`grove --help` answers at once: it loads the command line and nothing that talks to a server."""
    code = f"""
    sys.argv = ["grove", *{arguments!r}]
    from labelgrove.__main__ import main
    main()
    """
    heavy = tuple(name for name in OPTIONAL if name not in ("click", "dotenv", "rich"))
    assert fresh(code, DRIVERS + heavy)


def test_numba_or_not_the_answers_are_the_same():
    """Blocked or there, optional packages never change an answer."""
    rng = np.random.default_rng(0)
    pairs = [(f"v{i}", f"v{int(rng.integers(0, i))}") for i in range(1, 300)]
    code = f"""
    import numpy as np
    from labelgrove.adapter import Adapter
    from labelgrove.ontology import LabelGraph
    adapter = Adapter.from_graph(LabelGraph.from_edges({pairs!r}), [f"v{{i}}" for i in range(0, 300, 7)])
    P = np.random.default_rng(1).random((200, adapter.n_observed))
    ranking = adapter.top_k(P, 3)
    print(ranking.indices.tolist(), ranking.values.tobytes().hex())
    """
    assert fresh(code, DRIVERS + OPTIONAL) == fresh(code, ())
