"""Files of a user's own, in the shapes of CIFAR-100, ImageNet, PubMed and LSHTC, small."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.sparse import csr_matrix, save_npz

from labelgrove.datasets.category import categories, categories_of_files
from labelgrove.datasets.ownfiles import Files, read_votes
from labelgrove.datasets.predicted import Predicted
from labelgrove.experiments import load
from labelgrove.experiments.claims.partially_observed import of_all_classes
from labelgrove.experiments.runnable import check_runnable
from labelgrove.experiments.settings import changed
from labelgrove.ontology.errors import InputError, NotFoundError, UnknownLabelError, WeightError
from tests.experiment_runs import run

CLASSES = [f"class-{i:03d}" for i in range(100)]


def lines(path, keys):
    path.write_text("".join(f"{key}\n" for key in keys), encoding="utf-8")
    return path


@pytest.fixture
def cifar(tmp_path):
    """A root, 20 superclasses and 100 classes; a model that is right half of the time."""
    rng = np.random.default_rng(0)
    edges = [f"super-{i // 5:02d},{key}" for i, key in enumerate(CLASSES)]
    edges += [f"root,super-{i:02d}" for i in range(20)]
    hierarchy = lines(tmp_path / "cifar100.csv", ["parent,child", *edges])
    truth = rng.integers(0, 100, 400)
    order = rng.permutation(100)
    rows = rng.dirichlet(np.full(100, 0.05), 400)
    rows[np.arange(400), np.argsort(order)[truth]] += 0.3
    np.save(tmp_path / "probs.npy", (rows / rows.sum(axis=1, keepdims=True)).astype(np.float32))
    np.save(tmp_path / "text.npy", rng.normal(size=(100, 16)).astype(np.float32))
    return Files(
        hierarchy=hierarchy,
        probs=tmp_path / "probs.npy",
        columns=lines(tmp_path / "columns.txt", [CLASSES[i] for i in order]),
        truth=lines(tmp_path / "truth.txt", [CLASSES[i] for i in truth]),
        class_embeddings=tmp_path / "text.npy",
        classes=lines(tmp_path / "classes.txt", CLASSES),
        answers="leaves",
    )


@pytest.fixture
def samples(tmp_path):
    """Features of twelve classes below three superclasses; each class is a cloud."""
    rng = np.random.default_rng(1)
    keys = CLASSES[:12]
    hierarchy = lines(
        tmp_path / "tree.csv",
        ["parent,child", *(f"s{i // 4},{k}" for i, k in enumerate(keys)), *(f"root,s{i}" for i in range(3))],
    )
    centers = rng.normal(size=(12, 8)) * 2
    truth = rng.integers(0, 12, 600)
    np.save(tmp_path / "features.npy", centers[truth] + rng.normal(size=(600, 8)))
    np.save(tmp_path / "vectors.npy", centers)
    return Files(
        hierarchy=hierarchy,
        embeddings=tmp_path / "features.npy",
        labels=lines(tmp_path / "labels.txt", [keys[i] for i in truth]),
        class_embeddings=tmp_path / "vectors.npy",
        classes=lines(tmp_path / "names.txt", keys),
    )


def test_the_default_tree_of_cifar_100_is_normalized_by_sixteen(cifar, tmp_path):
    experiment = load("metric-comparison")
    settings = changed(experiment.settings(), ["seeds=0", "temperature=1"])
    document = run(experiment, tmp_path / "out", settings=settings, files=cifar).document
    assert document["inputs"] == "the user's own files"
    assert set(document["files"]) == {
        "hierarchy", "probs", "columns", "truth", "class-embeddings", "classes", "metric", "answers",
    }  # fmt: skip
    spaces = document["units"][0]["result"]["spaces"]
    assert spaces["tree"]["diameter"] == 4
    row = next(row for row in document["tables"][0]["rows"] if row[0] == "tree")
    assert row[2] == pytest.approx(spaces["tree"]["squared"] / 16)
    assert spaces["complete"]["diameter"] == 1


@pytest.mark.parametrize("name", ["zero-shot", "calibration"])
def test_zero_shot_experiments_take_probabilities(cifar, tmp_path, name):
    experiment = load(name)
    temperatures = "temperatures=1,2" if name == "zero-shot" else "temperatures=0.5,1,2"
    settings = changed(experiment.settings(), ["seeds=0", temperatures])
    document = run(experiment, tmp_path / "out", settings=settings, files=cifar).document
    assert document["rows_where_argmax_was_verified"] == 400 * (6 if name == "zero-shot" else 3)


def test_trials_on_the_same_file_share_no_sample(cifar, tmp_path):
    """A trial that repeats another would make every difference look certain."""
    experiment = load("zero-shot")

    def internal(seeds):
        settings = changed(experiment.settings(), [f"seeds={seeds}", "temperatures=1"])
        document = run(experiment, tmp_path / "out", settings=settings, files=cifar).document
        found = [unit["result"]["internal, T = 1"] for unit in document["units"]]
        return [f["n_samples"] for f in found], document["findings"][0]["contrasts"][0]

    (whole, single), (parts, split) = internal("0"), internal("5,1,3,9")
    assert (whole, parts) == ([400], [100] * 4)
    assert single["half_width"] is None
    assert split["half_width"] > 0
    assert split["after"] == pytest.approx(single["after"])  # every sample once
    with pytest.raises(InputError, match="400 rows for 401 seeds"):
        internal(",".join(map(str, range(401))))


def test_probabilities_stay_on_disk(cifar):
    predicted = cifar.predicted(cifar.space())
    assert isinstance(predicted.probabilities, np.memmap)
    assert predicted.columns[0] != CLASSES[0]  # in the order of the model, bound by key


def test_columns_of_a_model_of_all_classes_are_taken_by_key(cifar, tmp_path):
    predicted = cifar.predicted(cifar.space())
    chosen = (predicted.columns[7], predicted.columns[2])
    taken = of_all_classes(predicted, chosen)
    assert taken.columns == chosen
    assert (taken.probabilities == np.asarray(predicted.probabilities[:, [7, 2]])).all()
    empty = Predicted(("a", "b", "c"), np.array([[1.0, 0, 0], [0, 1, 0]]), ("a", "b"), ("a", "b"))
    assert of_all_classes(empty, ("b", "c")).probabilities.tolist() == [[1, 1], [1, 0]]
    experiment = load("partially-observed")
    settings = changed(experiment.settings(), ["sizes=20,60", "seeds=0,1", "samplings=uniform"])
    only = Files(hierarchy=cifar.hierarchy, probs=cifar.probs, columns=cifar.columns, truth=cifar.truth)
    document = run(experiment, tmp_path / "out", settings=settings, files=only).document
    assert [row[1] for row in document["tables"][0]["rows"]] == ["columns of all classes"] * 2


@pytest.mark.parametrize("name", ["partially-observed", "beta-ablation", "active-error", "class-embeddings"])
def test_experiments_that_train_take_features(samples, tmp_path, name):
    experiment = load(name)
    size = "n_start=4" if name == "active-error" else "sizes=6"
    changes = [size, "seeds=0,1"] + (["rounds=4,2"] if name == "active-error" else [])
    files = (
        replace(samples, hierarchy=None)
        if name == "class-embeddings"
        else Files(samples.hierarchy, embeddings=samples.embeddings, labels=samples.labels)
    )
    document = run(
        experiment, tmp_path, settings=changed(experiment.settings(), changes), files=files
    ).document
    assert document["rows_where_argmax_was_verified"] >= 2 * 300
    if name == "active-error":  # rounds need not be in order
        found = [unit["result"]["your own"] for unit in document["units"]]
        assert all(f["active 4"]["locus"] > f["active 2"]["locus"] for f in found)
        assert document["findings"][0]["because"].endswith("; it depends on the features")
    trained = files.labeled(files.space(), 0)
    again = files.labeled(files.space(), 0)
    assert (trained.test_labels == again.test_labels).all()
    assert len(trained.train_labels) == len(trained.test_labels) == 300
    assert trained.trainable.n_labels == 12


def test_separate_test_files_are_not_split(samples, tmp_path):
    np.save(tmp_path / "test.npy", np.zeros((5, 8)))
    files = Files(
        samples.hierarchy,
        embeddings=samples.embeddings,
        labels=samples.labels,
        test_embeddings=tmp_path / "test.npy",
        test_labels=lines(tmp_path / "test.txt", CLASSES[:5]),
    )
    found = files.labeled(files.space(), 0)
    assert (len(found.train_labels), found.test_labels.tolist()) == (600, CLASSES[:5])


def test_lshtc_files_have_several_labels_a_line(tmp_path):
    made = categories(300, 400, 0)
    save_npz(tmp_path / "documents.npz", csr_matrix(made.features))
    pairs = [f"{parent} {child}" for child, parent, _, _ in made.graph.edges()]
    pairs.append("900001 900002")  # another component: its documents do not count
    votes = [",".join(row) if i % 2 else " ".join(row) for i, row in enumerate(made.votes)]
    votes[0] = "900002"
    files = Files(
        hierarchy=lines(tmp_path / "hierarchy.txt", pairs),
        embeddings=tmp_path / "documents.npz",
        labels=lines(tmp_path / "labels.txt", votes),
    )
    read = categories_of_files(files)
    assert read.graph.n_labels == 300
    assert read.votes == made.votes[1:]
    assert (read.features.toarray() == made.features[1:]).all()
    experiment = load("supernodes")
    settings = changed(
        experiment.settings(), ["sizes=10", "seeds=0", "target=40", "n_test=0", "methods=capped"]
    )
    document = run(experiment, tmp_path / "out", settings=settings, files=files).document
    tested = document["units"][0]["result"]["n_samples"]
    assert 200 <= tested < 399  # half of those of observed supernodes, and all others


def test_generated_categories_have_the_shape_of_lshtc():
    made = categories(2000, 300, 1)
    assert made.graph.n_components == 1
    assert made.graph.n_edges / made.graph.n_labels == pytest.approx(2.65, abs=0.05)
    children = np.bincount(made.graph.edge_parent, minlength=2000)
    assert children.max() > 30 * children.mean()  # hubs
    assert {len(row) for row in made.votes} <= {1, 2, 3, 4}
    assert len({len(row) for row in made.votes}) > 2


def test_the_identity_follows_the_content_of_files(cifar, tmp_path):
    experiment = load("metric-comparison")
    settings = changed(experiment.settings(), ["seeds=0", "temperature=1"])
    first = run(experiment, tmp_path / "out", settings=settings, files=cifar)
    same = run(experiment, tmp_path / "out", settings=settings, files=cifar)
    probs = np.load(cifar.probs)
    np.save(cifar.probs, probs[:, ::-1])
    other = run(experiment, tmp_path / "out", settings=settings, files=cifar)
    assert (first.computed, same.computed, other.computed) == (1, 0, 1)
    assert first.document["files"]["probs"] != other.document["files"]["probs"]
    assert json.dumps(first.document["files"]) == json.dumps(same.document["files"])


def test_a_hierarchy_that_was_written_anew_is_read_anew(tmp_path):
    files = Files(hierarchy=lines(tmp_path / "tree.csv", ["parent,child", "root,a"]))
    assert files.space().n_labels == 2
    lines(files.hierarchy, ["parent,child", "root,a", "root,b"])
    assert files.space().n_labels == 3


def with_header(files, path):
    """Return the probabilities as CSV whose header names the columns."""
    head = ",".join(files.columns.read_text(encoding="utf-8").split())
    np.savetxt(path, np.load(files.probs), delimiter=",", header=head, comments="")
    return path


def test_a_header_of_probabilities_names_the_columns(cifar, tmp_path):
    named = Files(cifar.hierarchy, with_header(cifar, tmp_path / "named.csv"), truth=cifar.truth)
    check_runnable(load("partially-observed"), named)
    assert named.predicted(cifar.space()).columns == cifar.predicted(cifar.space()).columns
    with pytest.raises(InputError, match="it takes"):
        check_runnable(load("partially-observed"), Files(cifar.hierarchy, cifar.probs, truth=cifar.truth))


def test_wrong_files_are_refused_by_option_and_line(cifar, samples, tmp_path):
    space = cifar.space()
    short = lines(tmp_path / "short.txt", CLASSES[:3])
    strange = lines(tmp_path / "strange.txt", [*CLASSES[:99], "class-x"])
    named = with_header(cifar, tmp_path / "named.csv")
    holed, rows = tmp_path / "holed.npy", np.load(cifar.probs)
    rows[157, 3] = np.nan
    np.save(holed, rows)
    given = {
        "hierarchy": cifar.hierarchy,
        "probs": cifar.probs,
        "columns": cifar.columns,
        "truth": cifar.truth,
    }

    def predicted(**other):
        return lambda: Files(**(given | other)).predicted(space)

    for call, error, said in (
        (predicted(truth=short), InputError, "--truth: 3 keys given, but --probs .* needs 400"),
        (predicted(columns=strange), UnknownLabelError, "--columns: 1 of 100 .* line 100 'class-x'"),
        (predicted(columns=None), InputError, "--columns: missing"),
        (predicted(probs=named, columns=short), InputError, r"order differ from the header.*named\.csv"),
        (predicted(probs=holed), WeightError, r"--probs .*holed\.npy: row 157, column 3 .* holds nan"),
        (predicted(probs=tmp_path / "gone.npy"), NotFoundError, r"gone\.npy: there is no such file"),
        (lambda: Files(cifar.hierarchy, classes=short, class_embeddings=cifar.class_embeddings).class_space(),
         InputError, "100 rows for 3 keys"),
        (lambda: Files(embeddings=samples.embeddings, labels=short).labeled(samples.space(), 0),
         InputError, "--labels: 3 keys for 600 rows"),
        (lambda: read_votes(lines(tmp_path / "empty.txt", [])), InputError, "names no label"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            call()
    for name, other, said in (
        ("zero-shot", {"classes": short}, "leave out --classes$"),
        ("partially-observed", {"embeddings": short, "labels": short}, "leave out --embeddings, --labels$"),
        ("partially-observed", {"test_embeddings": short, "test_labels": short}, "leave out --test-embed"),
        ("class-embeddings", {}, "it takes --class-embeddings --classes --embeddings --labels or .*-labels$"),
    ):
        with pytest.raises(InputError, match=f"{name}: .* given; .*{said}"):
            check_runnable(load(name), Files(**(given | other)))
    with pytest.raises(InputError, match=r"leave out --hierarchy$"):
        check_runnable(load("class-embeddings"), samples)
    with pytest.raises(InputError, match="digits-grid: --labels given; it takes no files of your own"):
        run(load("digits-grid"), tmp_path, files=Files(labels=short))
    with pytest.raises(InputError, match="zero-shot: --hierarchy given; it takes --probs --columns --truth"):
        run(load("zero-shot"), tmp_path, files=Files(hierarchy=cifar.hierarchy))


@pytest.mark.parametrize("n_labels", [0, 1, 2, 6])
def test_too_few_categories_are_refused(n_labels):
    """Their pairs could not give the edges, and drawing more of them would not end."""
    with pytest.raises(InputError, match="give 7 or more"):
        categories(n_labels, 10, 0)
    assert categories(7, 10, 0).graph.n_labels == 7
