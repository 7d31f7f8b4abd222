"""The commands for a user's own files, run on generated files of the layouts in docs/experiments.md.

Every run is small in CI, and `slow` in the size of the paper's data: 10,000 x 100 probabilities (CIFAR-100),
50,000 x 1,000 probabilities and 50,000 x 2,048 features, twice (ImageNet), 9,419 classes (PubMed), 325,056
categories (LSHTC; of its 2.4 million documents 20,000).
"""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("sklearn")

from scipy.sparse import csr_matrix, save_npz

from labelgrove.cli import grove
from labelgrove.datasets.category import categories
from labelgrove.experiments import NAMES, load

FEW, ALL = "few", pytest.param("all", marks=[pytest.mark.slow, pytest.mark.timeout(3600)])


def lines(name, keys):
    Path(name).write_text("".join(f"{key}\n" for key in keys), encoding="utf-8")


def clouds(truth, n_classes, n_features, rng):
    """Features about a center for each class, in the precision of a file that should not be large."""
    centers = rng.standard_normal((n_classes, n_features), dtype=np.float32)
    rows = np.empty((len(truth), n_features), dtype=np.float16)
    for start in range(0, len(truth), 4096):
        part = truth[start : start + 4096]
        rows[start : start + 4096] = centers[part] + rng.standard_normal(
            (len(part), n_features), dtype=np.float32
        )
    return rows


def softmax_of(truth, n_classes, rng):
    """Probabilities of logits with noise, of which the true one stands out."""
    rows = rng.gumbel(size=(len(truth), n_classes)).astype(np.float32)
    rows[np.arange(len(truth)), truth] += np.log(n_classes)  # right half of the time
    np.exp(rows, out=rows)
    return rows / rows.sum(axis=1, keepdims=True)


def cifar_100(n_rows):
    rng = np.random.default_rng(0)
    classes = [f"thing {i}" for i in range(100)]
    lines("cifar100.txt", [f"group {g}\t{', '.join(classes[5 * g : 5 * g + 5])}" for g in range(20)])
    truth = rng.integers(0, 100, n_rows)
    np.save("clip-cifar100.npy", softmax_of(truth, 100, rng))
    np.save("clip-text.npy", rng.normal(size=(100, 512)).astype(np.float32))
    lines("classes.txt", classes)
    lines("truth.txt", [classes[i] for i in truth])


def imagenet(n_classes, n_each, n_features):
    rng = np.random.default_rng(1)
    wnids = [f"n{10_000_000 + i}" for i in range(n_classes)]
    above = [f"n{1_000_000 + i:08d}" for i in range(n_classes // 4)]
    edges = [f"{above[i // 4]} {key}" for i, key in enumerate(wnids)]
    edges += [f"{above[(i - 1) // 3]} {key}" for i, key in enumerate(above) if i]
    lines("imagenet-wordnet.txt", edges)
    truth = np.repeat(np.arange(n_classes), n_each)
    for part, name in (("train", "train"), ("val", "val")):
        np.save(f"simclr-{part}.npy", clouds(truth, n_classes, n_features, np.random.default_rng(2)))
        lines(f"{name}.txt", [wnids[i] for i in truth])
    np.save("probs.npy", softmax_of(truth, n_classes, rng)[:, ::-1])
    lines("columns.txt", wnids[::-1])


def pubmed(n_classes, n_documents, n_features):
    rng = np.random.default_rng(3)
    classes = [f"D{i:06d}" for i in range(n_classes)]
    truth = rng.integers(0, n_classes, n_documents)
    np.save("simcse-classes.npy", rng.standard_normal((n_classes, n_features), dtype=np.float32))
    np.save("documents.npy", clouds(truth, n_classes, n_features, rng))
    lines("classes.txt", classes)
    lines("labels.txt", [classes[i] for i in truth])


def lshtc(n_labels, n_documents):
    made = categories(n_labels, n_documents, 0)
    lines("hierarchy.txt", [f"{parent} {child}" for child, parent, _, _ in made.graph.edges()])
    save_npz("documents.npz", csr_matrix(made.features))
    lines("labels.txt", [",".join(row) for row in made.votes])


MAKE = {
    "cifar-100": {"few": lambda: cifar_100(300), "all": lambda: cifar_100(10_000)},
    "imagenet": {"few": lambda: imagenet(40, 12, 8), "all": lambda: imagenet(1000, 50, 2048)},
    "pubmed": {"few": lambda: pubmed(60, 600, 8), "all": lambda: pubmed(9419, 30_000, 768)},
    "lshtc": {"few": lambda: lshtc(300, 400), "all": lambda: lshtc(325_056, 20_000)},
}
LAYOUTS = {
    "zero-shot": "cifar-100",
    "metric-comparison": "cifar-100",
    "calibration": "cifar-100",
    "partially-observed": "imagenet",
    "beta-ablation": "imagenet",
    "active-error": "imagenet",
    "class-embeddings": "pubmed",
    "supernodes": "lshtc",
}
SMALLER = {
    "few": {
        "zero-shot": ["seeds=0,1"],
        "metric-comparison": ["seeds=0,1"],
        "calibration": ["seeds=0,1", "temperatures=0.7,1,2"],
        "partially-observed": ["seeds=0", "sizes=5,40", "samplings=gibbs"],
        "beta-ablation": ["seeds=0", "sizes=12"],
        "active-error": ["seeds=0", "n_start=6", "rounds=3"],
        "class-embeddings": ["seeds=0", "sizes=30"],
        "supernodes": ["seeds=0", "sizes=10", "target=40", "methods=capped"],
    },
    "all": {
        "partially-observed": ["seeds=0", "sizes=10,100", "models=5-nn"],
        "beta-ablation": ["seeds=0", "sizes=10"],
        "active-error": ["seeds=0", "n_start=10", "rounds=5", "models=5-nn"],
        "class-embeddings": ["seeds=0", "sizes=100"],
        "supernodes": ["seeds=0", "sizes=50", "methods=capped"],
    },
}


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(words, changes):
        words = [*words, *(word for change in changes for word in ("--set", change)), "--json"]
        monkeypatch.setattr(sys, "argv", ["grove", *words])
        result = CliRunner().invoke(grove, words)
        assert result.exit_code == 0, (words, result.output, result.exception)
        return json.loads(result.stdout)

    return run


@pytest.mark.parametrize("size", [FEW, ALL])
@pytest.mark.parametrize("name", [name for name in NAMES if load(name).claim.command])
def test_the_command_for_own_files_runs_on_files_of_their_layout(call, name, size):
    MAKE[LAYOUTS[name]][size]()
    words = shlex.split(load(name).claim.command.replace("\\\n", " "))
    document = call(words[1:], SMALLER[size].get(name, ()))
    assert document["inputs"] == "the user's own files"
    assert document["rows_where_argmax_was_verified"] > 0
    if LAYOUTS[name] == "cifar-100":
        spaces = document["units"][0]["result"].get("spaces", {"tree": {"diameter": 4}})
        assert spaces["tree"]["diameter"] == 4
    if name == "partially-observed":  # all leaves may be answers, and nothing else
        assert document["files"]["answers"] == "leaves"


@pytest.mark.parametrize("size", [FEW, ALL])
def test_probabilities_of_a_model_of_all_classes_take_the_place_of_features(call, size):
    MAKE["imagenet"][size]()
    words = shlex.split(
        "experiment partially-observed --hierarchy imagenet-wordnet.txt --answers leaves --probs probs.npy "
        "--columns columns.txt --truth val.txt"
    )
    changes = ["seeds=0", "samplings=uniform", "sizes=5,40" if size == "few" else "sizes=10,100,1000"]
    document = call(words, changes)
    found = [unit["result"]["columns of all classes"] for unit in document["units"]]
    assert {f["n_samples"] for f in found} == {480 if size == "few" else 50_000}
    everything = found[-1]["rules"]  # columns are bound by key: most of the rows are right
    assert everything["argmax"]["accuracy"] > 0.2
    assert everything["nearest_observed"]["squared"] == 0
