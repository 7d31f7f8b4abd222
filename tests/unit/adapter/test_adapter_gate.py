"""One gate for outputs: the same mistake has the same words, by whichever door it enters."""

from pathlib import Path

import array_api_strict as strict
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from click.testing import CliRunner
from sklearn.base import BaseEstimator, ClassifierMixin

from labelgrove.adapter import Adapter, SparseOutputs, build_bundle, evaluate
from labelgrove.adapter.calibration import fit_temperature
from labelgrove.adapter.engines.arrays import ArrayAdapter
from labelgrove.adapter.outputs.opening import open_outputs
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.sklearn import FrechetClassifier
from labelgrove.cli import grove
from labelgrove.cli.printing.text import in_options
from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import write_safetensors

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("moss", "plant"), ("tree", "plant")])
COLUMNS = ["oak", "moss", "elm"]
BUNDLE = build_bundle(GRAPH, COLUMNS)
GOOD = [0.5, 0.25, 0.25]
NAN, INF = np.nan, np.inf
AS_LOGITS = (
    "if these are logits, say outputs='logits' (grove: --outputs logits), which applies the softmax; if "
    "log-probabilities, outputs='log_probabilities' (grove: --outputs log_probabilities)"
)

MISTAKES = {
    "NaN": (
        [0.5, NAN, 0.5],
        "row 2, column 1 ('moss') holds nan; a row must have a number, not NaN, in every cell",
    ),
    "infinity": ([0.5, 0.5, INF], "row 2, column 2 ('elm') holds inf; a row must have finite numbers"),
    "negative": (
        [-0.5, 0.5, 1.0],
        f"row 2, column 0 ('oak') holds -0.5; a row must have no negative number; {AS_LOGITS}",
    ),
    "zeros": ([0.0, 0.0, 0.0], "row 2 sums to 0.0; each row must give at least one label a positive weight"),
    "too little": (
        [1e-160, 0.0, 0.0],
        "row 2 sums to 1e-160; the weights of a row must sum to at least 1e-150; scale them",
    ),
    "too much": (
        [1e160, 0.0, 0.0],
        "row 2 sums to 1e+160; the weights of a row must sum to at most 1e+150; scale them",
    ),
}
WIDTH = "4 columns given, expected 3: one for each class of the model, in this order: oak, moss, elm"
AXES = "shape (2, 3, 1) given; give two axes, samples x columns"
DTYPE = "dtype <U3 given; give real numbers"


class Given(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are its input."""

    def fit(self, X, y):
        self.classes_ = np.array(COLUMNS)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


def listed(P):
    """Return outputs that list every column, the last ones first."""
    return SparseOutputs(np.tile(np.arange(P.shape[1])[::-1], (len(P), 1)), P[:, ::-1])


def passed_on(make):
    """Return a door of `Adapter.predict`."""
    return lambda P, folder: Adapter(BUNDLE).predict(make(P))


def classified(P, folder):
    FrechetClassifier(Given(), BUNDLE).fit([[0]] * 3, COLUMNS).predict(P)


def saved(P, folder, ending):
    """Write outputs as a file whose columns, where it names them, are called by their labels."""
    path = folder / f"p{ending}"
    names = [*COLUMNS, "plant"][: P.shape[-1]]
    if ending == ".npy":
        np.save(path, P)
    elif ending == ".npz":
        np.savez(path, P)
    elif ending == ".safetensors":
        path.write_bytes(write_safetensors({"P": P}, {}))
    elif ending == ".parquet":
        pq.write_table(pa.table({name: P[:, i] for i, name in enumerate(names)}), path)
    elif ending == ".arrow":
        table = pa.table({name: P[:, i] for i, name in enumerate(names)})
        with pa.ipc.new_stream(path, table.schema) as file:
            file.write_table(table)
    elif ending == ".csv":
        path.write_text("\n".join([",".join(names), *(",".join(map(repr, row)) for row in P.tolist())]))
    else:
        path = folder / "p.npz"
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(P))
    return path


def from_file(ending):
    """Return a door for a file, read by the library a block at a time."""

    def door(P, folder):
        adapter = Adapter(BUNDLE)
        for rows in adapter.blocks(open_outputs(saved(P, folder, ending))):
            adapter.top_k(rows, 1)

    return door


def by_command(ending, *more):
    """Return a door for a file that `grove score` reads."""

    def door(P, folder):
        BUNDLE.save(folder / "b.safetensors")
        path = saved(P, folder, ending)
        given = CliRunner().invoke(grove, ["score", str(folder / "b.safetensors"), str(path), *more])
        assert given.exit_code == 2, given.output
        raise WeightError(given.stderr.removeprefix("error: ").rstrip("\n"))

    return door


IN_ORDER = ("--columns", "bundle")
DOORS = {
    "array": passed_on(np.asarray),
    "an array by columns": passed_on(np.asfortranarray),
    "lists": passed_on(lambda P: P.tolist()),
    "scipy": passed_on(scipy.sparse.csr_matrix),
    "scipy by columns": passed_on(scipy.sparse.csc_array),
    "sparse outputs": passed_on(listed),
    "a table": passed_on(lambda P: pa.table({str(i): P[:, i] for i in range(P.shape[1])})),
    "top_k": lambda P, folder: Adapter(BUNDLE).top_k(P, 2),
    "other columns": lambda P, folder: Adapter(BUNDLE, COLUMNS).decision_function(P),
    "array-api": lambda P, folder: ArrayAdapter(Adapter(BUNDLE)).predict_indices(strict.asarray(P)),
    "array-api scores": lambda P, folder: ArrayAdapter(Adapter(BUNDLE)).decision_function(strict.asarray(P)),
    "sklearn": classified,
    "evaluate": lambda P, folder: evaluate(Adapter(BUNDLE), P, ["oak"] * len(P)),
    "evaluate a stream": lambda P, folder: evaluate(Adapter(BUNDLE), iter([P[:1], P[1:]]), ["oak"] * len(P)),
    "calibrate": lambda P, folder: fit_temperature(P, ["oak"] * len(P), adapter=Adapter(BUNDLE)),
    ".npy": from_file(".npy"),
    ".npz": from_file(".npz"),
    ".safetensors": from_file(".safetensors"),
    ".parquet": from_file(".parquet"),
    ".arrow": from_file(".arrow"),
    ".csv": from_file(".csv"),
    ".npz of scipy": from_file("scipy"),
    "grove score .npy": by_command(".npy", *IN_ORDER),
    "grove score .npz": by_command(".npz", *IN_ORDER),
    "grove score .parquet": by_command(".parquet"),
    "grove score .arrow": by_command(".arrow"),
    "grove score .csv": by_command(".csv"),
    "grove score .npz of scipy": by_command("scipy", *IN_ORDER),
    "grove score --explain": by_command(".npy", *IN_ORDER, "--explain", "2"),
}
SOURCES = ("P: ", "estimator: predict_proba: ")


def words(name: str, P, folder: Path) -> str:
    """Return what a door says of outputs, without the name of their source."""
    with pytest.raises(WeightError) as caught:
        DOORS[name](P, folder)
    said = str(caught.value)
    for source in (*SOURCES, *(f"{path}: " for path in folder.iterdir())):
        said = said.removeprefix(source)
    return said


def expected(name: str, said: str) -> str:
    return in_options(said) if name.startswith("grove") else said


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_row_that_breaks_a_rule_is_refused_in_the_same_words(name, mistake, tmp_path):
    row, said = MISTAKES[mistake]
    assert words(name, np.array([GOOD, GOOD, row, GOOD]), tmp_path) == expected(name, said)


NAMED = (
    "grove score .parquet",
    "grove score .arrow",
    "grove score .csv",
)  # whose columns are bound by their names first


@pytest.mark.parametrize("name", [name for name in DOORS if name not in NAMED])
def test_a_column_too_many_is_refused_in_the_same_words(name, tmp_path):
    if name == "sparse outputs":
        return  # it has no width: a column that is not there is named instead
    assert words(name, np.ones((2, 4)), tmp_path) == expected(name, WIDTH)


@pytest.mark.parametrize(
    "name",
    ["array", "lists", "array-api", "sklearn", "evaluate", ".npy", "grove score .npy"],
)
def test_another_number_of_axes_is_refused_in_the_same_words(name, tmp_path):
    assert words(name, np.ones((2, 3, 1)), tmp_path) == AXES


@pytest.mark.parametrize(
    "name", ["array", "lists", "top_k", "sklearn", "evaluate", ".npy", ".npz", "grove score .npy"]
)
def test_text_is_refused_in_the_same_words(name, tmp_path):
    assert words(name, np.array([["0.5", "0.2", "0.3"]]), tmp_path) == DTYPE


def test_a_cell_without_a_number_is_refused_in_the_same_words(tmp_path):
    (tmp_path / "p.csv").write_text("oak,moss,elm\n1,2,3\n1,,3\n")
    pq.write_table(pa.table({"oak": [1.0, 1], "moss": [2.0, None], "elm": [3.0, 3]}), tmp_path / "p.parquet")
    rule = "; a row must have a number, not NaN, in every cell"
    for source in ("p.csv:3", "p.parquet"):
        path = tmp_path / source.partition(":")[0]
        with pytest.raises(InputError) as caught:
            OutputFile(path).read()
        assert str(caught.value) == f"{tmp_path / source}: row 1, column 1 ('moss') holds nothing{rule}"
    (tmp_path / "p.csv").write_text("oak,moss,elm\n1,2,x\n")
    with pytest.raises(InputError) as caught:
        OutputFile(tmp_path / "p.csv").read()
    assert str(caught.value) == f"{tmp_path / 'p.csv'}:2: row 0, column 2 ('elm') holds 'x'{rule}"


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
def test_rows_that_do_not_sum_to_one_are_noted_in_the_same_words(ending, tmp_path):
    P = np.array([GOOD, [2.0, 1.0, 1.0]])
    (said,) = (note for note in evaluate(Adapter(BUNDLE), P, ["oak", "elm"]).notes if "sum to 1" in note)
    BUNDLE.save(tmp_path / "b.safetensors")
    path = saved(P, tmp_path, ending)
    more = IN_ORDER if ending == ".npy" else ()
    scored = CliRunner().invoke(grove, ["score", str(tmp_path / "b.safetensors"), str(path), *more])
    assert scored.stderr == f"note: {in_options(said)}\n"
    assert said in evaluate(Adapter(BUNDLE), OutputFile(path), ["oak", "elm"]).notes


def test_rows_are_numbered_over_all_of_a_source(tmp_path):
    P = np.tile(GOOD, (9000, 1))
    P[[8500, 8600], 1] = NAN
    said = (
        "row 8500, column 1 ('moss') holds nan (and 1 more of rows 8192 to 8999); a row must have a number, "
        "not NaN, in every cell"
    )
    for name in (
        "array",
        "scipy",
        "sparse outputs",
        "array-api",
        "sklearn",
        ".npy",
        ".csv",
        "evaluate a stream",
    ):
        assert words(name, P, tmp_path) == said, name
