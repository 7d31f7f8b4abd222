"""Whatever a model emits, and however it lies in memory, the answer is that of its probabilities."""

import warnings
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter import Adapter, SparseOutputs, evaluate
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.outputs import gate
from labelgrove.adapter.outputs import weights as outputs_as_weights
from labelgrove.adapter.outputs.sparsefiles import read_scipy
from labelgrove.ontology.errors import BindingError, InputError, WeightError
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
GRID = LabelGraph.grid((3, 3))
OBSERVED = ["moss", "oak", "elm"]


def softmax(rows, temperature=1.0):
    rows = np.asarray(rows, dtype=np.longdouble) / temperature
    rows = np.exp(rows - rows.max(axis=1, keepdims=True))
    return (rows / rows.sum(axis=1, keepdims=True)).astype(np.float64)


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_calibration_and_scoring_have_the_same_softmax_to_the_last_bit(temperature):
    logits = np.random.default_rng(1).normal(0, 30, (50, 300))
    logits[:, 1::7] = -np.inf
    given = logits.copy()
    found = outputs_as_weights.softmax(logits, temperature)
    reader = outputs_as_weights.OutputReader("logits", temperature, 300)
    ((_, weights),) = reader.chunks(reader.rows(logits))
    assert found.tobytes() == weights.tobytes()
    assert np.array_equal(logits, given)
    assert found == pytest.approx(softmax(logits, temperature))


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("shift", [-5000.0, 0.0, 700.0])
def test_logits_are_the_softmax_of_each_row(temperature, shift):
    logits = np.random.default_rng(0).normal(0, 3, (200, 3))
    adapter = Adapter.from_graph(TREE, OBSERVED, outputs="logits", temperature=temperature)
    plain = Adapter.from_graph(TREE, OBSERVED)
    expected = plain.top_k(softmax(logits, temperature), 5)
    found = adapter.top_k(logits + shift, 5)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)
    assert found.keys == expected.keys
    assert adapter.temperature == temperature
    assert adapter.outputs == "logits"


def test_log_probabilities_give_their_probabilities_and_the_temperature_of_logits():
    logits = np.random.default_rng(1).normal(0, 2, (100, 3))
    P = softmax(logits)
    found = Adapter.from_graph(TREE, OBSERVED, outputs="log_probabilities").top_k(np.log(P), 5)
    np.testing.assert_allclose(
        found.values, Adapter.from_graph(TREE, OBSERVED).top_k(P, 5).values, rtol=1e-12
    )
    colder = {"temperature": 0.5}
    logs = Adapter.from_graph(TREE, OBSERVED, outputs="log_probabilities", **colder).top_k(np.log(P), 5)
    same = Adapter.from_graph(TREE, OBSERVED, outputs="logits", **colder).top_k(logits, 5)
    np.testing.assert_allclose(logs.values, same.values, rtol=1e-9)


def test_minus_infinity_is_a_probability_of_zero():
    adapter = Adapter.from_graph(TREE, OBSERVED, outputs="logits")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adapter.predict([[-np.inf, 0.0, -np.inf], [-np.inf, 2.0, 2.0]]) == ["oak", "tree"]
        assert adapter.predict([[-1.7e308, 1.7e308, 1.7e308], [1e-300, 0.0, -1.7e308]])[0] == "tree"
        cold = Adapter.from_graph(TREE, OBSERVED, outputs="logits", temperature=1e-300)
        assert cold.predict([[1.0, 2.0, -1e200]]) == ["oak"]
        assert cold.predict_sets([[1.0, 2.0, -1e200]]) == [("moss", "oak")]
        assert adapter.top_k([-np.inf, 0.0, -np.inf], 1).values.tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("outputs", "dtype"),
    [
        (outputs, dtype)
        for outputs in ("probabilities", "log_probabilities", "logits")
        for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "g", "<i2", ">i4", "u1")
        if (outputs, dtype) != ("log_probabilities", "u1")  # nothing unsigned is below zero
    ],
)
def test_dtype_byte_order_strides_and_flags_do_not_matter(outputs, dtype):
    rng = np.random.default_rng(2)
    values = rng.integers(1, 7, (40, 3)).astype(dtype)
    if outputs == "log_probabilities":
        values = (-values).astype(dtype)
    adapter = Adapter.from_graph(TREE, OBSERVED, outputs=outputs)
    expected = adapter.top_k(values.astype(np.float64).tolist(), 3)
    wide = np.zeros((80, 9), dtype=dtype)
    wide[::2, 1:7:2] = values
    frozen = values.copy()
    frozen.flags.writeable = False
    for form in (values, np.asfortranarray(values), wide[::2, 1:7:2], values[::-1][::-1], frozen):
        before = form.tobytes()
        found = adapter.top_k(form, 3)
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.keys == expected.keys
        assert form.tobytes() == before


@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_the_order_of_columns_changes_no_bit(outputs):
    P = np.random.default_rng(3).random((50, 5)).astype(np.float32)
    bundle = build_bundle(GRID, [GRID.keys[i] for i in (0, 2, 4, 6, 8)])
    shuffle = np.array([3, 0, 4, 2, 1])
    plain = Adapter(bundle, outputs=outputs)
    bound = Adapter(bundle, [bundle.observed_keys[i] for i in shuffle], outputs=outputs)
    assert bound.top_k(P[:, shuffle], 4).values.tobytes() == plain.top_k(P, 4).values.tobytes()
    sparse = SparseOutputs(np.tile(np.argsort(shuffle), (50, 1)), P)
    assert bound.top_k(sparse, 4).values.tobytes() == plain.top_k(P, 4).values.tobytes()


@given(data=st.data(), outputs=st.sampled_from(["probabilities", "log_probabilities", "logits"]))
def test_sparse_outputs_equal_dense_ones_to_the_last_bit(data, outputs):
    n = data.draw(st.integers(1, 9))
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    bundle = build_bundle(GRID, [GRID.keys[i] for i in (0, 5, 4, 6, 8)])
    shuffle = rng.permutation(5)
    adapter = Adapter(bundle, [bundle.observed_keys[i] for i in shuffle], outputs=outputs)
    m = int(rng.integers(1, 6))
    indices = np.array([rng.permutation(5)[:m] for _ in range(n)])
    values = rng.random((n, m)) + 0.01
    padded = np.concatenate([indices, np.full((n, 1), -1)], axis=1).astype(np.int32)
    absent = 0.0
    if outputs != "probabilities":
        values, absent = np.log(values), -np.inf
        values = np.minimum(values, 0)
    dense = np.full((n, 5), absent)
    np.put_along_axis(dense, indices, values, axis=1)
    expected = adapter.top_k(dense, 9)
    csr = scipy.sparse.csr_matrix((values.ravel(), indices.ravel(), np.arange(n + 1) * m), shape=(n, 5))
    for form in (
        SparseOutputs(indices, values),
        SparseOutputs(padded, np.concatenate([values, np.full((n, 1), np.nan)], axis=1)),
        csr,
        scipy.sparse.csr_array(csr),
        csr.tocsc(),
        csr.tocoo(),
    ):
        found = adapter.top_k(form, 9)
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.indices.tolist() == expected.indices.tolist()
        assert adapter.decision_function(form).tobytes() == adapter.decision_function(dense).tobytes()


def test_sparse_outputs_in_small_chunks(monkeypatch):
    rng = np.random.default_rng(4)
    adapter = Adapter.from_graph(TREE, OBSERVED)
    indices, values = np.array([rng.permutation(3)[:2] for _ in range(25)]), rng.random((25, 2))
    whole = adapter.top_k(SparseOutputs(indices, values), 3)
    monkeypatch.setattr(gate, "_ROWS_AT_ONCE", 4)
    parts = adapter.top_k(SparseOutputs(indices, values), 3)
    assert parts.keys == whole.keys
    assert parts.values.tobytes() == whole.values.tobytes()
    with pytest.raises(WeightError, match="row 21 lists column 3"):
        adapter.predict(SparseOutputs(np.where(np.arange(25)[:, None] == 21, 3, indices), values))


@pytest.mark.parametrize(
    ("indices", "values", "match"),
    [
        ([[0, 0]], [[0.5, 0.5]], "row 0 lists a column twice"),
        ([[0, 3]], [[0.5, 0.5]], "row 0 lists column 3; a column must be within 0..2"),
        ([[0, -2]], [[0.5, 0.5]], "row 0 lists column -2"),
        (np.array([[0, 2**64 - 1]], np.uint64), [[0.5, 0.5]], "row 0 lists column 18446744073709551615;"),
        (np.array([[0, 2**63]], np.uint64), [[0.5, 0.5]], "row 0 lists column 9223372036854775808;"),
        (np.array([[0, 255]], np.uint8), [[0.5, 0.5]], "row 0 lists column 255;"),
        ([[-1, -1]], [[0.5, 0.5]], "row 0 sums to 0.0"),
        ([[0.0, 1.0]], [[0.5, 0.5]], "indices: dtype float64 given; give whole numbers"),
        ([[0, 1]], [[0.5, 0.5, 0.0]], r"indices of shape \(1, 2\) and values of shape \(1, 3\)"),
        ([[0, 1], [2]], [[0.5, 0.5], [1]], "indices: rows of different lengths"),
        ([[0, 1]], [["a", "b"]], "values: dtype"),
        ([[[0, 1]]], [[[0.5, 0.5]]], "both must"),
        ([[0, 1]], [[0.5, -0.5]], "holds -0.5; a row must have no negative number"),
    ],
)
def test_sparse_outputs_that_break_a_rule_are_refused(indices, values, match):
    with pytest.raises(WeightError, match=match):
        Adapter.from_graph(TREE, OBSERVED).predict(SparseOutputs(indices, values))


@pytest.mark.parametrize("dtype", ["u1", "u4", ">u8", "i1", ">i8"])
def test_indices_of_any_whole_type_name_the_same_columns(dtype):
    adapter = Adapter.from_graph(TREE, OBSERVED)
    bound = Adapter(adapter.bundle, ["elm", "moss", "oak"])
    sparse = SparseOutputs(np.array([[2, 1], [0, 2]], dtype), [[0.25, 0.75], [0.1, 0.9]])
    assert adapter.top_k(sparse, 1).keys == adapter.top_k([[0, 0.75, 0.25], [0.1, 0, 0.9]], 1).keys
    assert bound.top_k(sparse, 1).keys == bound.top_k([[0, 0.75, 0.25], [0.1, 0, 0.9]], 1).keys


def test_scipy_matrices_that_break_a_rule_are_refused(tmp_path):
    adapter = Adapter.from_graph(TREE, OBSERVED)
    with pytest.raises(WeightError, match="4 columns given, expected 3"):
        adapter.predict(scipy.sparse.csr_matrix(np.ones((2, 4))))
    with pytest.raises(WeightError, match="dtype bool"):
        adapter.predict(scipy.sparse.csr_matrix(np.ones((2, 3), dtype=bool)))
    twice = scipy.sparse.csr_matrix(([0.5, 0.5], [1, 1], [0, 2]), shape=(1, 3))
    with pytest.raises(WeightError, match=r"twice.*sum_duplicates"):
        adapter.predict(twice)
    for form in (twice.tocsc(), twice.tocoo(), scipy.sparse.coo_array(twice), bsr_of(twice)):
        with pytest.raises(WeightError, match=r"row 0 lists a column twice.*sum_duplicates"):
            adapter.predict(form)
    shifted = scipy.sparse.vstack([scipy.sparse.coo_matrix([[1.0, 0, 0]]), twice.tocoo()], format="coo")
    with pytest.raises(WeightError, match="row 1 lists a column twice"):
        adapter.predict(shifted)
    scipy.sparse.save_npz(tmp_path / "twice.npz", twice.tocoo())
    with pytest.raises(InputError, match="row 0 lists a column twice"):
        read_scipy(tmp_path / "twice.npz")
    twice.sum_duplicates()
    assert adapter.predict(twice) == ["oak"]


@pytest.mark.parametrize(
    ("form", "name", "value", "match"),
    [
        ("csr", "indptr", [0, 1, 999999, 3], "non-decreasing"),
        ("csr", "indptr", [0, 1, 2, -(2**31)], "non-decreasing"),
        ("csr", "indices", [0, -1, 2], "must be >= 0"),
        ("csr", "indices", [0, 3, 2], "must be < 3"),
        ("csr", "indices", [0.0, 1.5, 2.0], "indices of dtype float64"),
        ("csr", "data", [1.0], "same size"),
        ("csc", "indices", [0, 99, 2], "must be < 3"),
        ("bsr", "indices", [0, -1, 2], "must be >= 0"),
        ("coo", "row", [0, 1, 99], "99"),
        ("coo", "col", [0, -1, 2], "-1"),
        ("dia", "offsets", [0, 1], "offset"),
        ("lil", "rows", [[0], [], [2]], "differ in length"),
        ("lil", "rows", [[0], [99], [2]], "must be < 3"),
    ],
)
def test_scipy_matrices_whose_arrays_do_not_fit_are_refused(form, name, value, match):
    matrix = scipy.sparse.eye_array(3, format=form)
    if form == "lil":
        matrix.rows[:] = value
    else:
        setattr(matrix, name, np.asarray(value, None if "." in str(value) else np.int32))
    before = {key: getattr(matrix, key) for key in vars(matrix)}
    with pytest.raises(WeightError, match=f"P: a damaged scipy matrix .*{match}"):
        Adapter.from_graph(TREE, OBSERVED).predict(matrix)
    assert all(getattr(matrix, key) is held for key, held in before.items())


def bsr_of(matrix):
    """The same entries as blocks of one number each."""
    return scipy.sparse.bsr_matrix(
        (matrix.data.reshape(-1, 1, 1), matrix.indices, matrix.indptr), matrix.shape
    )


@pytest.mark.parametrize(
    ("outputs", "bad", "match"),
    [
        ("logits", np.nan, "holds nan"),
        ("logits", np.inf, "holds inf.*finite numbers, or minus infinity where"),
        ("log_probabilities", 3.0, "holds 3.0.*no log-probability above 0.*outputs='logits'"),
        ("log_probabilities", np.nan, "holds nan"),
    ],
)
def test_bad_logs_are_numbered_over_all_chunks(outputs, bad, match):
    adapter = Adapter.from_graph(TREE, OBSERVED, outputs=outputs)
    P = np.full((6000, 3), -1.0)
    P[[5001, 5007], 1] = bad
    with pytest.raises(WeightError, match=rf"row 5001, column 1 \('{OBSERVED[1]}'\) {match}") as caught:
        adapter.predict(P)
    assert "(and 1 more of rows 4096 to 5999)" in str(caught.value)
    P[[5001, 5007]] = -np.inf
    with pytest.raises(WeightError, match="row 5001 has the maximum -inf"):
        adapter.predict(P)


def test_logits_passed_as_probabilities_name_the_option():
    with pytest.raises(WeightError, match="outputs='logits'"):
        Adapter.from_graph(TREE, OBSERVED).predict([[2.0, -1.0, 0.5]])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"outputs": "probs"},
            "'probs' given; choose 'probabilities', 'log_probabilities', 'logits'",
        ),
        ({"outputs": "logits", "temperature": 0}, "temperature: 0 given"),
        ({"outputs": "logits", "temperature": -1.0}, "temperature"),
        ({"outputs": "logits", "temperature": np.nan}, "temperature"),
        ({"outputs": "logits", "temperature": np.inf}, "temperature"),
        ({"outputs": "logits", "temperature": True}, "temperature"),
        ({"outputs": "logits", "temperature": "1"}, "temperature"),
        ({"temperature": 2.0}, "divides logits"),
        ({"beta": 0}, "beta"),
        ({"beta": "2"}, "beta"),
    ],
)
def test_options_out_of_range_are_refused(options, match):
    with pytest.raises(InputError, match=match):
        Adapter.from_graph(TREE, OBSERVED, **options)


def test_masked_arrays_and_unreadable_things_are_refused():
    adapter = Adapter.from_graph(TREE, OBSERVED)
    with pytest.raises(WeightError, match="masked"):
        adapter.predict(np.ma.masked_array(np.ones((1, 3)), [[True, False, False]]))

    class OnADevice:
        def __array__(self, *args, **kwargs):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

    with pytest.raises(WeightError, match="memory of this machine"):
        adapter.predict(OnADevice())
    for empty in ([], [[]], None, "abc", {}):
        with pytest.raises(WeightError):
            adapter.predict(empty)


class Frame:
    """A data frame as pandas and polars have it, as far as an adapter looks at one."""

    def __init__(self, columns):
        self.columns = list(columns)
        self._values = np.column_stack([*columns.values()])

    def __array__(self, dtype=None, copy=None):
        return self._values


TABLES = ["numpy", *(made for made in ("pyarrow", "pandas", "polars") if find_spec(made) is not None)]
"""Kinds of tables; those of pandas and polars where they are, which the tests do not install."""


def table_of(made, columns):
    if made == "numpy":
        return Frame(columns)
    if made == "pyarrow":
        return pa.table(columns)
    return import_module(made).DataFrame(columns)


@pytest.mark.parametrize("made", TABLES)
@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_a_table_with_the_columns_of_the_model_is_read_by_their_names(made, outputs):
    P = np.random.default_rng(5).random((40, 3))
    adapter = Adapter(build_bundle(TREE, OBSERVED), ["elm", "moss", "oak"], outputs=outputs)
    expected = adapter.top_k(P, 3)
    truth = ["oak", "moss"] * 20
    figures = evaluate(adapter, P, truth, resamples=50).to_dict()
    for order in permutations(range(3)):
        table = table_of(made, {adapter.observed[i]: P[:, i] for i in order})
        assert adapter.top_k(table, 3).values.tobytes() == expected.values.tobytes()
        assert adapter.predict(table) == adapter.predict(P)
        assert adapter.decision_function(table).tobytes() == adapter.decision_function(P).tobytes()
        assert evaluate(adapter, table, truth, resamples=50).to_dict() == figures
        assert evaluate(adapter, iter([table]), truth, resamples=50).to_dict() == figures


@pytest.mark.parametrize("made", TABLES)
def test_a_table_with_other_names_is_read_by_position(made):
    P = np.random.default_rng(6).random((4, 3))
    adapter = Adapter.from_graph(TREE, OBSERVED)
    table = table_of(made, dict(zip(["0", "1", "2"], P.T, strict=True)))
    assert adapter.predict(table) == adapter.predict(P)
    if made in ("numpy", "pandas"):
        table.columns = [2, 0, 1]
        assert adapter.predict(table) == adapter.predict(P)


@pytest.mark.parametrize("made", TABLES)
@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["oak", "elm", "fern"], "it lacks 'moss'; it has in addition, or twice, 'fern'. Name every column"),
        (["oak", "elm"], "it lacks 'moss'. Name"),
        (["id", "oak", "elm", "moss"], "of the model: it has in addition, or twice, 'id'. Name"),
    ],
)
def test_a_table_with_some_columns_of_the_model_is_refused(made, names, match):
    adapter = Adapter.from_graph(TREE, OBSERVED)
    with pytest.raises(BindingError, match=f"P: the columns of the table differ.*{match}"):
        adapter.predict(table_of(made, {name: np.ones(2) for name in names}))


def test_a_table_with_a_column_twice_is_refused():
    table = Frame({"oak": np.ones(2), "elm": np.ones(2), "moss": np.ones(2)})
    table.columns = ["oak", "elm", "oak"]
    with pytest.raises(BindingError, match="it lacks 'moss'; it has in addition, or twice, 'oak'"):
        Adapter.from_graph(TREE, OBSERVED).predict(table)
