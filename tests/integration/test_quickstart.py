"""The quickstart on real input: numbers against a plain recomputation, rows against the label graph."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("py3langid")

from labelgrove.cli.printing.progress import Steps
from labelgrove.datasets.synsets import masked_texts, synset_words
from labelgrove.ontology.extras import install_command
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.quickstart import digits, render, run, wordnet
from labelgrove.quickstart.extract import animals_of
from labelgrove.quickstart.wordnet import EXTRACT

PRETRAINED = Path(__file__).parents[2] / "docs" / "pretrained.md"

pytestmark = [pytest.mark.xdist_group("quickstart"), pytest.mark.long]  # one run of it serves all


def _path_with_grove() -> str:
    """Return a PATH on which the command of this environment comes first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> Settings:
    return Settings.from_env({"GROVE_HOME": str(tmp_path_factory.mktemp("home"))})


@pytest.fixture(scope="module")
def messages() -> list[str]:
    return []


@pytest.fixture(scope="module")
def result(settings, messages, wordnet_dir, tmp_path_factory):
    out = tmp_path_factory.mktemp("pictures") / "new" / "folder"
    return run(out, settings=settings, progress=messages.append, wordnet=wordnet_dir)


class TestDigits:
    def test_four_corners_reach_positions_that_were_never_seen(self, result):
        part = result.digits
        assert [(e.n_labels, e.n_observed) for e in part.evaluations] == [(81, 4)] * 5
        assert 14 < part.mean("argmax") < 19
        assert part.mean("frechet_mean") < 4
        assert part.mean("frechet_mean") < part.mean(
            "nearest_observed"
        )  # no answer among the corners can do that
        assert part.mean("frechet_mean", "accuracy") > part.mean("argmax", "accuracy")

    @pytest.mark.parametrize("seed", [0, 3])
    def test_scores_equal_a_plain_recomputation(self, result, seed):
        predicted = digits.classify(seed)
        positions = np.array([tuple(map(int, k.split(","))) for k in digits.grid().keys])
        truth, columns = (
            np.array([tuple(map(int, k.split(","))) for k in keys])
            for keys in (predicted.truth, predicted.columns)
        )

        def hops(a, b):
            return np.abs(a - b).sum(axis=-1)

        def lowest_tied(values):  # pictures far from all corners give exact ties between labels
            return (values <= values.min(axis=1, keepdims=True) * (1 + 1e-12)).argmax(axis=1)

        variance = predicted.probabilities @ (hops(positions[:, None], columns).T ** 2)
        answers = {
            "frechet_mean": positions[lowest_tied(variance)],
            "argmax": columns[lowest_tied(1 - predicted.probabilities)],
            "nearest_observed": columns[hops(truth[:, None], columns).argmin(axis=1)],
            "constant": np.full_like(truth, 4),
        }
        evaluation = result.digits.evaluations[seed]
        for rule, answer in answers.items():
            squared = float((hops(answer, truth) ** 2).mean())
            assert evaluation[rule].all.mean_squared_distance == pytest.approx(squared), rule

    def test_training_pictures_lie_in_corners_and_hold_out_their_images(self):
        predicted = digits.classify(0)
        assert set(predicted.train_labels) == set(predicted.columns) == set(digits.CORNERS)
        assert len(predicted.truth) == 1797 - len(predicted.train_labels) // 4
        assert set(predicted.truth) == set(digits.grid().keys)


class TestLanguages:
    def test_the_figures_are_those_of_the_experiment(self, result):
        row = next(
            line
            for line in PRETRAINED.read_text(encoding="utf-8").splitlines()
            if line.startswith("| py3langid | likelihood | 0 % |") and "±" in line
        )
        argmax, mean, constant, observed, crm, oracle, _, *accuracies = (
            cell.partition(" ")[0] for cell in row.strip("| ").split(" | ")[3:]
        )
        part = result.languages
        for rule, shown in {
            "argmax": argmax,
            "frechet_mean": mean,
            "constant": constant,
            "observed_only": observed,
            "crm": crm,
            "nearest_observed": oracle,
        }.items():
            assert f"{part.mean(rule):.4g}" == shown
        exact = [part.mean(rule, "accuracy") for rule in ("argmax", "frechet_mean")]
        assert [f"{value:.4g}" for value in exact] == accuracies
        assert part.mean("constant", "accuracy") == 0

    def test_unknown_languages_stand_beside_all_of_them(self, result):
        part = result.languages
        assert [(e.n_labels, e.n_observed, e.n_samples) for e in part.evaluations] == [(5910, 139, 3132)] * 5
        argmax, mean = (part.mean(rule, samples="unobserved") for rule in ("argmax", "frechet_mean"))
        assert part.mean("argmax") < mean < argmax
        text = render(result).split("\n\n")[1]
        assert re.search(rf"  argmax .* {argmax:.2f} ", text)
        assert re.search(rf"  Fréchet mean .* {mean:.2f} ", text)
        for each in part.unknown:
            assert f"{each.argmax[0]}, {each.argmax[1]} of {each.n_samples}" in text
            assert f"{each.frechet_mean[0]}, {each.frechet_mean[1]} of {each.n_samples}" in text

    def test_without_the_package_one_line_says_what_to_install(self, tmp_path, monkeypatch, result):
        monkeypatch.setitem(sys.modules, "py3langid", None)
        settings = Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})
        without = run(tmp_path / "out", settings=settings, wordnet=None)
        assert without.languages is None
        assert without.digits == result.digits
        assert [r.name for r in without.registered] == ["quickstart-digits"]
        assert json.loads(without.report.read_text(encoding="utf-8"))["languages"] is None
        assert f"pretrained language identifier: {install_command('models')}\n" in render(without)
        assert install_command("models") not in render(result)


class TestAnimals:
    def test_the_mean_beats_argmax_and_a_constant_and_pays_in_accuracy(self, result):
        part = result.animals
        for evaluation in part.evaluations:
            assert evaluation.n_labels == 4017
            assert evaluation.diameter == 22
            assert 80 < evaluation.n_observed <= 100
            error = {
                rule: evaluation[rule].all.mean_squared_distance
                for rule in ("frechet_mean", "argmax", "constant")
            }
            assert error["frechet_mean"] < min(error["argmax"], error["constant"])
        assert 25 < part.mean("frechet_mean") < 33
        assert 40 < part.mean("constant") < 45
        assert part.mean("frechet_mean", "accuracy") < part.mean("argmax", "accuracy")

    def test_all_nouns_are_in_the_graph(self, result, settings):
        sizes = {r.name: (r.n_labels, r.n_edges) for r in result.registered}
        assert sizes["quickstart-wordnet"] == (82_115, 84_427)
        with Workspace.open(settings) as workspace:
            version = workspace.catalog.version("quickstart-wordnet").digest
            assert workspace.graph.counts(version) == (82_115, 84_427)

    def test_rows_of_the_graph_equal_those_of_the_label_graph(self, result, settings):
        widest, depths = result.answers
        with Workspace.open(settings) as workspace:
            nouns = workspace.label_graph("quickstart-wordnet")
            animals = workspace.label_graph("quickstart-animals")
        children = np.bincount(nouns.edge_parent, minlength=nouns.n_labels)
        assert [count for *_, count in widest.rows] == np.sort(children)[::-1][:5].tolist()
        city = int(children.argmax())
        assert widest.rows[0][:2] == (nouns.keys[city], nouns.names[city])
        assert nouns.names[city] == "city"
        assert [list(row) for row in depths.rows] == list(
            map(list, enumerate(np.bincount(animals.depth).tolist()))
        )

    def test_the_extract_is_what_its_script_makes_of_wordnet(self, wordnet_dir):
        packed = animals_of(wordnet_dir)
        assert packed == animals_of(wordnet_dir / "data.noun")
        assert packed[:10] == b"\x1f\x8b\x08\x00" + b"\0" * 4 + b"\x02\xff"  # no name, no date, no system
        assert gzip.decompress(EXTRACT.read_bytes()) == gzip.decompress(packed)

    def test_the_extract_holds_the_animals_of_wordnet(self, wordnet_dir):
        whole, extract = read(wordnet_dir), read(EXTRACT)
        animals = wordnet.subtree(whole.graph)
        assert extract.graph.digest == animals.digest
        assert extract.definitions == {key: whole.definitions[key] for key in animals.keys}
        words = synset_words(wordnet_dir / "data.noun")
        assert synset_words(EXTRACT) == {key: words[key] for key in animals.keys}
        assert EXTRACT.stat().st_size < 1_000_000

    def test_the_license_of_wordnet_stands_in_the_extract_and_beside_it(self):
        lines = gzip.decompress(EXTRACT.read_bytes()).decode().splitlines()
        license_lines = [re.sub(r"^  \d+ ?", "", line) for line in lines if line.startswith("  ")]
        beside = EXTRACT.with_name("LICENSE.WordNet").read_text(encoding="utf-8").splitlines()
        assert license_lines == beside[2:]
        assert any("Copyright 2006 by Princeton University" in line for line in license_lines)

    def test_animals_are_found_in_every_release_by_name(self):
        nouns = LabelGraph.from_edges(
            [("n2", "n1"), ("n3", "n2"), ("n4", "n1")], names={"n2": "animal", "n4": "plant"}
        )
        assert list(wordnet.subtree(nouns).keys) == ["n2", "n3"]

    def test_every_word_of_a_synset_is_masked_in_its_own_gloss(self, wordnet_dir):
        words = synset_words(wordnet_dir / "data.noun")
        assert len(words) == 82_115
        assert words["n02084071"] == ("dog", "domestic dog", "Canis familiaris")
        gloss = "a tame Dog of many kinds; domestic dogs guard; hot-dog, dogma, Canis familiaris"
        assert masked_texts(["n02084071"], {"n02084071": gloss}, words) == (
            "a tame of many kinds; guard; hot- , dogma,",
        )

    def test_a_training_gloss_is_labeled_with_the_nearest_observed_label(self):
        # A chain 0-1-...-9 with the ends observed: the lower half belongs to 0, the upper half to 9.
        chain = LabelGraph.from_edges([(f"n{i}", f"n{i - 1}") for i in range(1, 10)])
        texts = tuple(f"{'low' if i < 5 else 'high'} gloss number{i}" for i in range(10))
        predicted = wordnet.classify(metric_space(chain), texts, ("n0", "n9"), seed=0)
        train = set(chain.keys) - set(predicted.truth)
        assert len(train) == 5
        near = sorted("n0" if int(key[1:]) < 5 else "n9" for key in train)
        assert sorted(predicted.train_labels) == near
        low = [int(key[1:]) < 5 for key in predicted.truth]
        assert (predicted.probabilities.argmax(axis=1) == 0).tolist() == low


class TestWhole:
    def test_pictures_and_report_are_written(self, result):
        assert [path.name for path in result.pictures] == ["grid.png", "simplex.png", "errors.png"]
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in result.pictures)
        assert json.loads(result.report.read_text(encoding="utf-8")) == json.loads(
            json.dumps(result.to_dict())
        )

    def test_it_tells_where_it_is_and_what_took_how_long(self, result, messages):
        assert sum(s for step, s in result.seconds.items() if step != "total") <= result.seconds["total"]
        assert messages[0].startswith("digits: registering")
        assert messages[-1] == "drawing the pictures"

    def test_the_text_shows_every_rule_and_says_what_it_costs(self, result):
        text = render(result)
        digits_text, languages_text, animals_text = text.split("\n\n")[:3]
        for rule in ("argmax", "Fréchet mean", "constant", "CRM", "nearest observed (oracle)"):
            for part_text in (digits_text, languages_text, animals_text):
                assert f"  {rule}" in part_text
        assert "exact accuracy rises" in digits_text
        assert "exact accuracy falls" in animals_text
        assert "constant answer, 'vertebrate'" in animals_text
        assert "city" in text
        assert "82,115" in text
        assert str(result.report) in text

    def test_the_lines_for_a_model_of_ones_own_run_as_they_are_shown(self, result, settings):
        shown = render(result).partition("four corners:\n")[2].partition("\n\nTo use your own")[0]
        code = textwrap.dedent(shown)
        assert len(code.splitlines()) <= 10
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "GROVE_HOME": str(settings.home), "PYTHONPATH": os.getcwd()},
        )
        weights = {(8, 8): 1, (0, 0): 5, (0, 8): 2, (8, 0): 2}
        variance = {
            (x, y): sum(w * (abs(x - a) + abs(y - b)) ** 2 for (a, b), w in weights.items())
            for x in range(9)
            for y in range(9)
        }
        best = "{},{}".format(*min(variance, key=variance.__getitem__))
        assert done.stdout.startswith(f"['{best}'] answer '{best}': variance")

    def test_the_last_lines_lead_from_labels_and_a_model_of_ones_own_to_a_page(self, result, tmp_path):
        shown = render(result).rpartition("To use your own model with your own labels:\n")[2]
        assert len(shown.splitlines()) == 3
        (tmp_path / "my-labels.csv").write_text("parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n")
        (tmp_path / "my-classes.txt").write_text("oak\nelm\nmoss\n")
        (tmp_path / "truth.txt").write_text("tree\nmoss\n" * 30)
        np.save(tmp_path / "outputs.npy", np.array([[0.5, 0.4, 0.1], [0.1, 0.1, 0.8]] * 30))
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", shown],
            check=True,
            cwd=tmp_path,
            env={**os.environ, "GROVE_HOME": str(tmp_path / "home"), "PATH": _path_with_grove()},
        )
        assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_a_second_run_without_wordnet_installed_changes_no_number_and_no_version(
        self, result, settings, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(import_module("labelgrove.quickstart.run"), "find_wordnet", lambda: None)
        again = run(tmp_path, settings=settings)
        assert again.digits == result.digits
        assert again.languages == result.languages
        assert again.animals == result.animals
        first = {r.name: r.digest for r in result.registered}
        assert [(r.name, r.created) for r in again.registered] == [
            ("quickstart-digits", False),
            ("quickstart-languages", False),
            ("quickstart-animals", False),
        ]
        assert all(first[r.name] == r.digest for r in again.registered)
        assert again.answers[1] == result.answers[1]
        graph = read(EXTRACT).graph
        widest = int(np.bincount(graph.edge_parent).argmax())
        assert again.answers[0].rows[0][1] == graph.names[widest] == "percoid fish"
        question = "Which animals have the most animals directly below them?"  # instances, too, are below
        assert again.answers[0].question == question
        assert "apt-get install wordnet-base" in render(again)
        assert "apt-get" not in render(result)
        for name in ("grid.png", "simplex.png", "errors.png"):
            assert (tmp_path / name).read_bytes() == (result.report.parent / name).read_bytes()

    def test_the_animals_can_be_left_out(self, result, tmp_path):
        left_out = run(tmp_path / "out", wordnet=None)
        assert left_out.digits == result.digits
        assert left_out.animals is None
        assert left_out.answers == ()
        assert json.loads(left_out.report.read_text(encoding="utf-8"))["animals"] is None
        assert "WordNet" not in render(left_out)

    @pytest.mark.parametrize(("package", "extra"), [("sklearn", "[demo]"), ("matplotlib", "[plots]")])
    def test_a_missing_package_is_named_with_the_command_that_installs_it(
        self, package, extra, tmp_path: Path
    ):
        code = (
            f"import sys; sys.modules[{package!r}] = None\n"
            "from pathlib import Path\n"
            "from labelgrove.ontology.errors import MissingExtraError\n"
            "try:\n"
            "    from labelgrove.quickstart import run\n"
            f"    run(Path({str(tmp_path)!r}), wordnet=None)\n"
            "except MissingExtraError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        assert extra in done.stdout


def test_a_step_that_goes_on_is_never_silent(capsys):
    """Each step prints a line, and dots while it prints nothing else."""
    said = ""
    with Steps(patience_s=0.001) as progress:
        time.sleep(0.02)  # long enough for a dot, which has no step yet to stand behind
        progress("reading")
        while not said.endswith("..."):
            said += capsys.readouterr().err
        progress("drawing")
    said += capsys.readouterr().err
    assert re.fullmatch(r"\[ +\d\.\d s\] reading \.{3,}\n\[ +\d\.\d s\] drawing \.*\n", said)
