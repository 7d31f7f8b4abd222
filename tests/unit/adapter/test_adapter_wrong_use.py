"""Wrong use of an adapter: a typed error that says what to do, at once, in little memory; never an answer."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from labelgrove.adapter import Adapter, Binding, SparseOutputs, Subtree, make_binding
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.errors import (
    ArtifactError,
    BindingError,
    BundleError,
    InputError,
    NotFoundError,
    ServiceError,
    SettingsError,
    SpaceError,
    UnknownLabelError,
    WeightError,
)
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store
from tests.unit.adapter.adapter_limits import limited, refused

PAIRS = [("oak", "tree"), ("elm", "tree"), ("moss", "plant"), ("tree", "plant")]
GRAPH = LabelGraph.from_edges(PAIRS)
NAMED = LabelGraph.from_edges(PAIRS, names={"oak": "Crane", "elm": "Crane", "moss": "Moss"})
GRID = LabelGraph.grid((3, 3))
COLUMNS = ["oak", "elm", "moss"]
BUNDLE, NAMED_BUNDLE = build_bundle(GRAPH, COLUMNS), build_bundle(NAMED, COLUMNS)
BLOCK = Adapter(build_bundle(GRAPH, COLUMNS, form="block"))
TREE, LEAVES, MEDIAN = (
    Adapter(BUNDLE),
    Adapter.from_graph(GRAPH, COLUMNS, labels="leaves"),
    Adapter(BUNDLE, beta=1),
)
STEEP = Adapter(BUNDLE, beta=2000)  # 3 to the power of it is beyond float64
LOGITS, LOGS = Adapter(BUNDLE, outputs="logits"), Adapter(BUNDLE, outputs="log_probabilities")
ROW = [[0.5, 0.4, 0.1]]
MANY = np.broadcast_to(np.array(ROW[0]), (1 << 40, 3))  # rows that take no memory, until they are copied


class OnADevice:
    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def made(**options):
    return lambda: Adapter(BUNDLE, **options)


def bound(columns, bundle=BUNDLE, **options):
    return lambda: Adapter(bundle, columns, **options)


def predicted(P, adapter=TREE, **options):
    return lambda: adapter.predict(P, **options)


OUTPUTS = {
    "too few columns": (
        predicted([[0.5, 0.5]]),
        WeightError,
        "2 columns given, expected 3: one for each class of the model, in this order: oak, elm, moss",
    ),
    "three axes": (predicted([[[0.5, 0.4, 0.1]]]), WeightError, r"shape \(1, 1, 3\) given; give two axes"),
    "NaN": (predicted([[0.5, np.nan, 0.1]]), WeightError, "holds nan; a row must have a number"),
    "infinity": (predicted([[0.5, np.inf, 0.1]]), WeightError, "holds inf; a row must have finite"),
    "negative": (
        predicted([[2.0, -1.0, 0.5]]),
        WeightError,
        "negative .*say outputs='logits'",
    ),
    "all zero": (
        predicted([[0.0, 0.0, 0.0]]),
        WeightError,
        "sums to 0.0; .*at least one label a positive weight",
    ),
    "NaN among logits": (
        predicted([[0.5, np.nan, 0.1]], LOGITS),
        WeightError,
        "holds nan; a row must have a number",
    ),
    "minus infinity alone": (
        predicted([[-np.inf] * 3], LOGITS),
        WeightError,
        "the maximum -inf; .*at least one label a positive weight",
    ),
    "logits as log-probabilities": (
        predicted([[2.0, -1.0, 0.5]], LOGS),
        WeightError,
        "no log-probability above 0; .*outputs='logits'",
    ),
    "logits as chances": (
        lambda: TREE.predict_sets([[2.0, 1.0, 0.5]]),
        WeightError,
        "above 1.*outputs='logits'",
    ),
    "booleans": (predicted([[True, False, True]]), WeightError, r"dtype bool .*\.astype\(float\)"),
    "text": (predicted([["0.5", "0.4", "0.1"]]), WeightError, "dtype <U3 given; give real numbers"),
    "complex": (predicted([[0.5j, 0.4, 0.1]]), WeightError, "dtype complex128 given; give real numbers"),
    "objects": (predicted([[None, 0.4, 0.1]]), WeightError, "dtype object given; give real numbers"),
    "rows of two lengths": (
        predicted([[0.5, 0.5], [1.0]]),
        WeightError,
        "different lengths .*rows of equal length",
    ),
    "masked": (
        predicted(np.ma.masked_array(ROW, [[1, 0, 0]])),
        WeightError,
        "masked .*fill its masked cells",
    ),
    "on a device": (predicted(OnADevice()), WeightError, "in the memory of this machine, without gradients"),
    "sparse, outside": (
        predicted(SparseOutputs([[0, 3]], [[0.5, 0.5]])),
        WeightError,
        r"row 0 lists column 3; a column must be within 0\.\.2, or -1 for an unused entry",
    ),
    "sparse, twice": (predicted(SparseOutputs([[0, 0]], [[0.5, 0.5]])), WeightError, "twice; list each once"),
    "sparse, two shapes": (
        predicted(SparseOutputs([[0, 1]], [[0.5]])),
        WeightError,
        r"same shape \(n_samples, m\)",
    ),
    "sparse, no numbers": (
        predicted(SparseOutputs([[0.0, 1.0]], [[0.5, 0.5]])),
        WeightError,
        "indices: dtype float64 given; give whole numbers",
    ),
    "sparse, nothing listed": (
        predicted(SparseOutputs([[-1]], [[0.5]])),
        WeightError,
        "sums to 0.0; .*positive",
    ),
    "a scipy matrix too wide": (
        predicted(scipy.sparse.csr_matrix(np.ones((2, 4)))),
        WeightError,
        "4 columns given, expected 3",
    ),
    "a scipy matrix with repeats": (
        predicted(scipy.sparse.csr_matrix(([0.5, 0.5], [1, 1], [0, 2]), shape=(1, 3))),
        WeightError,
        r"twice.*call P\.sum_duplicates",
    ),
    "an unknown kind": (made(outputs="probs"), InputError, "outputs: 'probs' given; choose 'probabilities'"),
    "temperature 0": (made(outputs="logits", temperature=0), InputError, "temperature: 0 .*positive finite"),
    "temperature of probabilities": (
        made(temperature=2.0),
        InputError,
        "a temperature divides logits: give those with outputs='logits'",
    ),
    "beta 0": (made(beta=0), InputError, "beta.* 0 "),
}

ANSWERS = {
    "a rule that is none": (
        predicted(ROW, candidates="leafs"),
        InputError,
        r"'leafs' is a single string and not a rule; give 'leaves', .*or a list of keys: \['leafs'\]",
    ),
    "an unknown candidate": (
        predicted(ROW, candidates=["oka"]),
        UnknownLabelError,
        "'oka'.*close to it: 'oak'",
    ),
    "a number as candidate": (
        predicted(ROW, candidates=[7]),
        InputError,
        "candidates of row 0: 7 given; give 'leaves'",
    ),
    "no candidate": (predicted(ROW, candidates=[]), InputError, "name at least one"),
    "a candidate that is not allowed": (
        predicted(ROW, LEAVES, candidates=["tree"]),
        UnknownLabelError,
        "'tree'",
    ),
    "an unknown subtree": (
        predicted(ROW, candidates=Subtree("fern")),
        UnknownLabelError,
        "no label of the tree",
    ),
    "leaves of a block": (
        predicted(ROW, BLOCK, candidates="leaves"),
        SpaceError,
        "metric='tree' .*, or list the keys",
    ),
    "a subtree of a block": (
        predicted(ROW, BLOCK, candidates=Subtree("tree")),
        SpaceError,
        "a block bundle does not contain; build a tree bundle",
    ),
    "sets for other rows": (
        predicted(ROW, candidates=[["oak"], None]),
        InputError,
        "2 sets for 1 row; give one set for each row, or None for a row",
    ),
    "a text among sets": (
        predicted(ROW * 2, candidates=["oak", None]),
        InputError,
        r"row 0 is the single string 'oak'; give a list of keys: \['oak'\]",
    ),
    "the locus of medians": (
        predicted(ROW, MEDIAN, candidates="locus"),
        InputError,
        "'locus' needs beta 2.*list",
    ),
    "no answer": (lambda: TREE.top_k(ROW, 0), InputError, "top.*between 1 and|k.*between 1 and|1"),
    "more answers than labels": (lambda: TREE.top_k(ROW, 6), InputError, "6.*5"),
    "more numbers than memory": (
        lambda: TREE.decision_function(MANY),
        InputError,
        r"decision_function: .*(candidates|out)",
    ),
    "more probabilities than memory": (
        lambda: TREE.predict_proba(MANY),
        InputError,
        r"predict_proba: .*(out|cand)",
    ),
    "room of another shape": (
        lambda: TREE.decision_function(ROW, out=np.zeros((1, 3))),
        InputError,
        r"out: .*\(1, 5\)",
    ),
    "room of whole numbers": (
        lambda: TREE.decision_function(ROW, out=np.zeros((1, 5), dtype=int)),
        InputError,
        "out: .*float64",
    ),
    "a column for each of a set": (
        lambda: TREE.decision_function(ROW, candidates={"oak", "elm"}),
        InputError,
        "a set of 2 keys has no order for the columns of decision_function; give a list",
    ),
    "a set for each row of numbers": (
        lambda: TREE.decision_function(ROW, candidates=[["oak"]]),
        InputError,
        "candidates",
    ),
    "powers beyond float64": (lambda: STEEP.decision_function(ROW), InputError, "use a smaller exponent"),
    "a softmax of such powers": (lambda: STEEP.predict_proba(ROW), InputError, "use a smaller exponent"),
    "such powers by row": (
        predicted(ROW, STEEP, candidates=[["elm", "moss"]]),
        InputError,
        "use a smaller exponent",
    ),
    "why of such powers": (
        lambda: Adapter.from_graph(GRAPH, COLUMNS[:2], beta=1100).explain([1, 0], candidates=["tree"]),
        InputError,
        "use a smaller exponent",
    ),
    "scale 0": (lambda: TREE.predict_proba(ROW, scale=0), InputError, "must be positive"),
    "a negative margin": (lambda: TREE.back_off(ROW, -1), InputError, "margin.*-1"),
    "backing off on a block": (lambda: BLOCK.back_off(ROW, 0.1), SpaceError, "tree"),
    "threshold 0": (lambda: TREE.predict_sets(ROW, threshold=0), InputError, "above 0 and at most 1"),
    "within nowhere": (lambda: TREE.predict_sets(ROW, within=-1), InputError, "within.*-1"),
    "why of two rows": (
        lambda: TREE.explain(ROW * 2),
        WeightError,
        r"one at a time: adapter\.explain\(P\[0\]\)",
    ),
}

COLUMN_CASES = {
    "unknown": (bound(["oka", "elm", "moss"]), BindingError, "column 0 'oka' is unknown.*'oak'"),
    "ambiguous": (
        bound(["oak", "Crane", "Moss"], NAMED_BUNDLE, by="name"),
        BindingError,
        "'Crane' is ambiguous; give the key.*'oak' .Crane., below 'tree'.*'elm' .Crane., below 'tree'",
    ),
    "repeated": (bound(["oak", "oak", "moss"]), BindingError, "column 1 'oak' repeats column 0"),
    "missing": (
        bound(["oak", "elm"]),
        BindingError,
        "no column stands for the observed label .*add it to the columns",
    ),
    "one text": (
        bound("oak"),
        BindingError,
        "is a single string; give a list with one entry for each column",
    ),
    "bytes": (bound([b"oak", b"elm", b"moss"]), BindingError, r"decode them: \[c\.decode\(\)"),
    "numbers": (bound([0, 1, 2]), BindingError, r"\[str\(c\) for c in classes\]"),
    "a set": (bound(set(COLUMNS)), BindingError, "of type set, .*in the order of the columns"),
    "a set by position": (bound({"a", "b", "c"}, by="position"), BindingError, "of type set, .*give a list"),
    "a number": (bound(3), BindingError, "columns: a value of type int, .*give a list"),
    "a table": (bound(np.array([COLUMNS])), BindingError, "give one text for each column"),
    "id2label with a gap": (
        bound({0: "oak", 1: "elm", 3: "moss"}),
        BindingError,
        "without 2; number the columns from 0 on",
    ),
    "label2id": (bound({"oak": 0, "elm": 1, "moss": 2}), BindingError, "this is label2id: give id2label"),
    "a number twice": (bound({0: "oak", "0": "elm", 1: "moss"}), BindingError, "occurs twice.*keep one"),
    "too few by position": (bound(["a", "b"], by="position"), BindingError, "by position needs one for each"),
    "an unknown way": (bound(COLUMNS, by="order"), InputError, "by: 'order' is not one of auto, key, name"),
    "keys as names": (bound(COLUMNS, NAMED_BUNDLE, by="name"), BindingError, "'oak' is unknown"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_that_break_a_rule(case):
    refused(*OUTPUTS[case])


@pytest.mark.parametrize("case", ANSWERS)
def test_questions_that_have_no_answer(case):
    refused(*ANSWERS[case])


@pytest.mark.parametrize("case", COLUMN_CASES)
def test_columns_that_would_have_to_be_guessed(case):
    refused(*COLUMN_CASES[case])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"format": "labelgrove/binding/2"}, "upgrade with: pip install --upgrade"),
        ({"format": "elsewhere/1"}, "this file is not a binding"),
        ({"extra": 1}, "has the fields .*save the binding again"),
        ({"by": "guess"}, r"by is 'guess' \(expected auto, key, name, position\)"),
        ({"columns": []}, "columns must be a list with an entry for each column"),
        ({"columns": [{"column": "oak"}]}, r"columns\[0\] is .*expected the fields column and key"),
        ({"columns": [{"column": "a", "key": "fern"}]}, "'fern' is unknown"),
        (None, "not JSON .*save the binding again"),
    ],
)
def test_binding_files_that_break_a_rule(change, match, tmp_path):
    path = tmp_path / "binding.json"
    make_binding(BUNDLE, COLUMNS).save(path)
    document = json.loads(path.read_text())
    path.write_text("{" if change is None else json.dumps(document | change))
    refused(lambda: Adapter(BUNDLE, Binding.load(path)), BindingError, match)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"format": "labelgrove/adapter/2"}, BundleError, "upgrade with: pip install --upgrade"),
        ({"format": "elsewhere/1"}, BundleError, "not the folder of an adapter"),
        ({"sha256": "0" * 64}, ArtifactError, "fetch or save the folder again"),
        ({"ontology_digest": "0" * 64}, BundleError, "ontology_digest is .*save the adapter again"),
        ({"temprature": 1.0}, BundleError, "unknown field 'temprature'; did you mean 'temperature'"),
        ({"columns": "oak"}, BundleError, "columns must be a list of keys"),
        ({"columns": ["oak", "elm"]}, BundleError, "does not fit its bundle.*moss"),
        ({"outputs": "probs"}, BundleError, "does not fit its bundle.*choose"),
        ({"temperature": "1"}, BundleError, "temperature is '1', expected a number"),
    ],
)
def test_folders_that_break_a_rule(change, error, match, tmp_path):
    TREE.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(lambda: Adapter.from_pretrained(tmp_path), error, match)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A store with a bundle of an older version, and nothing else on this machine."""
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "home"))
    store = open_store(str(tmp_path / "store"))
    digest = store.put_arrays(*BUNDLE.to_arrays())
    unversioned = store.put_arrays(*replace(BUNDLE, ontology_digest="").to_arrays())
    store.write_index("plants", {"version": "0" * 64, "bundles": {"mine": {"sha256": digest}}})
    (tmp_path / "folder").mkdir()
    return SimpleNamespace(
        where=store.where,
        digest=digest,
        unversioned=unversioned,
        folder=str(tmp_path / "folder"),
        monkeypatch=monkeypatch,
    )


def loaded(uri="plants/mine", **options):
    return lambda world: Adapter.load(
        uri.format_map(vars(world)), **({"artifacts_url": world.where, "stale": "ignore"} | options)
    )


def with_offline(world):
    world.monkeypatch.setenv("GROVE_OFFLINE", "yes")
    Adapter.load("plants/mine", artifacts_url=world.where)


LOADING = {
    "no form of address": (loaded("animals"), InputError, "not a known form of address; give a path"),
    "a number": (lambda _: Adapter.load(7), InputError, "of type int; give a path"),
    "an unknown ontology": (
        loaded("plans/mine"),
        NotFoundError,
        "'plants'; ingest it, or point GROVE_ARTIFACTS",
    ),
    "an unknown bundle": (loaded("plants/mien"), NotFoundError, "'mine'; build one with: grove bundle build"),
    "an unknown digest": (
        loaded("0" * 64),
        NotFoundError,
        "no such file in the artifact store; ingest or build",
    ),
    "a digest it no longer means": (loaded("plants/mine@11111111"), NotFoundError, "full 64-digit digest"),
    "a folder": (loaded("{folder}"), ArtifactError, "a folder, but a bundle is one .safetensors file"),
    "a file URL of a host": (loaded("file://host/x"), InputError, "a file URL has three slashes"),
    "a bad digest in a URL": (loaded("s3://b/x#sha256=abc"), InputError, "#sha256= and the 64 digits"),
    "a Redis URL without a digest": (
        loaded("redis://host:6379/0"),
        InputError,
        "names the cache entry of a digest",
    ),
    "a Redis that is away": (
        loaded(f"redis://127.0.0.1:9/0/{'0' * 64}"),
        ServiceError,
        "check that Redis runs",
    ),
    "an unknown driver": (loaded("nosuch://host/x.safetensors"), InputError, "nosuch"),
    "a stale bundle": (loaded(stale="refuse"), BundleError, "grove bundle build plants mine"),
    "an unknown rule for stale ones": (loaded(stale="maybe"), InputError, "'maybe' given; choose 'warn' or"),
    "an unknown rule for checks": (
        loaded(verify="never"),
        InputError,
        "'never' given; choose 'once' or 'always'",
    ),
    "a pin of another version": (loaded(pin="0" * 64), BundleError, "pinned to 0{12}; load it again"),
    "a pin that is no digest": (
        loaded(pin="latest"),
        InputError,
        "pin: 'latest' given; give True for the version",
    ),
    "a pin without a version": (
        loaded("{unversioned}", pin=True),
        BundleError,
        "names no ontology version .*leave out pin",
    ),
    "offline, never asked": (
        loaded(artifacts_url="memory://elsewhere", offline=True),
        NotFoundError,
        "load a bundle of it once while online",
    ),
    "offline, not kept": (
        loaded("s3://b/" + "0" * 64, offline=True),
        NotFoundError,
        "load it once while online",
    ),
    "offline, maybe": (with_offline, SettingsError, "GROVE_OFFLINE: 'yes' must be 0 or 1"),
    "a store that is a NUL": (loaded(artifacts_url="a\0b"), InputError, "NUL character"),
    "refreshed from memory": (
        lambda _: Adapter(BUNDLE).refresh(),
        InputError,
        r"create an adapter with Adapter\.load",
    ),
    "saved into a file": (
        lambda w: TREE.save_pretrained(__file__),
        ServiceError,
        "give a folder that this user may",
    ),
}


@pytest.mark.parametrize("case", LOADING)
def test_bundles_that_cannot_be_had(case, world):
    call, error, match = LOADING[case]
    refused(lambda: call(world), error, match)


BUILDING = {
    "what a reader returns": (lambda: build_bundle(object(), ["oak"]), InputError, r"read\(path\)\.graph"),
    "nothing observed": (lambda: build_bundle(GRAPH, []), InputError, "needs at least one observed label"),
    "observed twice": (lambda: build_bundle(GRAPH, ["oak", "oak"]), InputError, "one column for each label"),
    "observed unknown": (lambda: build_bundle(GRAPH, ["oka"]), UnknownLabelError, "close to it: 'oak'"),
    "a set observed": (lambda: build_bundle(GRAPH, {"oak", "elm"}), InputError, "of type set.*give a list"),
    "a number observed": (lambda: build_bundle(GRAPH, 7), InputError, "of type int.*give a list of keys"),
    "one text observed": (lambda: build_bundle(GRAPH, "oak"), InputError, "give a sequence of keys"),
    "an unknown form": (
        lambda: build_bundle(GRAPH, ["oak"], form="graph"),
        InputError,
        "choose 'auto', 'tree'",
    ),
    "a tree of a grid": (
        lambda: build_bundle(GRID, ["0,0"], form="tree"),
        SpaceError,
        "use metric='tree', or form='block'",
    ),
    "another version": (
        lambda: build_bundle(GRAPH, ["oak"], ontology={"digest": "0" * 64}),
        InputError,
        "the graph has",
    ),
}


@pytest.mark.parametrize("case", BUILDING)
def test_bundles_that_cannot_be_built(case):
    refused(*BUILDING[case])


def test_the_limits_themselves_hold():
    with pytest.raises(MemoryError), limited():
        np.zeros(60_000_000)
    with pytest.raises(TimeoutError, match="worked for more than"), limited(0.05):
        any(False for _ in itertools.count())
    np.zeros(60_000_000)  # and are lifted again
