"""Run the whole process on real input, from an empty home folder to scores, graph queries and pictures.

The labels are treated like those of a user: they are registered in the workspace, a job builds a bundle for
them, and an adapter loads the bundle by its name and answers with it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from labelgrove import plots
from labelgrove.adapter.evaluation import Evaluation, evaluate
from labelgrove.adapter.scorer import Adapter
from labelgrove.datasets.predicted import Predicted
from labelgrove.datasets.pretrained.languages import FAMILIES, identified, language_space
from labelgrove.datasets.synsets import masked_texts, synset_glosses, synset_words
from labelgrove.ontology.errors import GroveError, MissingExtraError
from labelgrove.ontology.geometry import CompleteSpace, MetricSpace, frechet_mean, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import ReadResult, find_wordnet, read
from labelgrove.ontology.readers.formats.wordnet import data_file
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import RegisterResult, register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.quickstart import digits, languages, wordnet
from labelgrove.quickstart.result import RULE_NAMES, Answer, Part, QuickstartResult, Unknown
from labelgrove.quickstart.wordnet import EXTRACT
from labelgrove.workers.client import build_bundle_job
from labelgrove.workers.ledger.states import State

__all__ = ["run"]

_DIGITS, _LANGUAGES = "quickstart-digits", "quickstart-languages"
_NOUNS, _ANIMALS = "quickstart-wordnet", "quickstart-animals"
_DIGITS_SEEDS = (0, 1, 2, 3, 4)
_LANGUAGES_SEEDS = (0, 1, 2, 3, 4)  # those of the experiment, which finds the same figures
_ANIMALS_SEEDS = (0, 1, 2)
_N_OBSERVED = 100
_PETS = LabelGraph.from_edges(
    [
        ("dog", "canine"),
        ("cat", "feline"),
        ("canine", "carnivore"),
        ("feline", "carnivore"),
        ("carnivore", "mammal"),
        ("mammal", "vertebrate"),
        ("trout", "fish"),
        ("fish", "vertebrate"),
    ]
)
_WIDEST = (
    "MATCH (child:Label)-[:IS_A]->(parent:Label) WHERE parent.version = $version "
    "RETURN parent.key AS key, parent.name AS name, count(child) AS children "
    "ORDER BY children DESC, key LIMIT 5"
)
_DEPTHS = (
    "MATCH (label:Label) WHERE label.version = $version "
    "RETURN label.depth AS depth, count(label) AS labels ORDER BY depth"
)


def run(
    out: Path,
    *,
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda _: None,
    wordnet: Path | Literal["find"] | None = "find",
) -> QuickstartResult:
    """Let classifiers answer with labels that they never saw, measure the answers, and draw them.

    Two classifiers are trained. Between them comes a pretrained language identifier, if its package is
    installed.

    Parameters
    ----------
    out : Path
        The folder for the pictures and ``result.json``; created if missing.
    settings : Settings, optional
        The settings of the workspace to work in, by default those of the environment. The ontologies
        ``quickstart-digits``, ``quickstart-animals``, ``quickstart-languages`` with the package of the
        identifier, and ``quickstart-wordnet`` with WordNet are created there, or left unchanged if they have
        the same content already.
    progress : callable
        Called with a line of text before each step.
    wordnet : Path, "find" or None, default="find"
        The folder of WordNet, or `wordnet.EXTRACT`, a file that comes with labelgrove and has only the
        animals of WordNet. ``"find"`` searches the usual folders for WordNet; if it is in none of them, the
        extract is used. None leaves the animals out.

    Returns
    -------
    QuickstartResult

    Raises
    ------
    MissingExtraError
        If scikit-learn or matplotlib is not installed.
    GroveError
        For any other failure, such as a server in `settings` that does not answer.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise MissingExtraError.of("scikit-learn", "demo", "grove quickstart")
    importlib.import_module("labelgrove.plots.backend")  # raises an error without matplotlib, before any work
    source = (find_wordnet() or EXTRACT) if wordnet == "find" else wordnet
    out.mkdir(parents=True, exist_ok=True)
    with Workspace.open(settings) as workspace:
        return _Run(out, workspace, progress).everything(source)


class _Run:
    """One run of the quickstart, with its folder, its progress and the seconds of its steps."""

    def __init__(self, out: Path, workspace: Workspace, progress: Callable[[str], None]) -> None:
        self._out = out
        self._workspace = workspace
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._registered: list[RegisterResult] = []

    def everything(self, wordnet_source: Path | None) -> QuickstartResult:
        """Take all steps, write ``result.json``, and return its contents."""
        begin = time.perf_counter()
        digits_part, pictures = self._digits()
        languages_part = self._languages() if languages.installed() else None
        animals, answers = (None, ()) if wordnet_source is None else self._animals(wordnet_source)
        with self._step("pictures", "drawing the pictures"):
            parts = [part for part in (digits_part, languages_part, animals) if part is not None]
            pictures += (
                plots.save(
                    plots.prediction_regions(metric_space(_PETS), ("dog", "cat", "trout")),
                    self._out / "simplex.png",
                ),
                plots.save(
                    plots.error_histogram({part.title: _shown_counts(part) for part in parts}),
                    self._out / "errors.png",
                ),
            )
        described = self._workspace.graph.describe()
        self._seconds["total"] = time.perf_counter() - begin
        result = QuickstartResult(
            digits=digits_part,
            languages=languages_part,
            animals=animals,
            registered=tuple(self._registered),
            answers=answers,
            pictures=pictures,
            report=self._out / "result.json",
            graph=f"{described['engine']} {described['version']}",
            seconds=self._seconds,
        )
        result.report.write_text(
            json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        return result

    def _digits(self) -> tuple[Part, tuple[Path, ...]]:
        graph = digits.grid()
        space = metric_space(graph)
        with self._step("digits: register", "digits: registering the 81 positions of a 9×9 grid"):
            self._register(_DIGITS, graph)
        bundle = self._bundle(_DIGITS, "corners", digits.CORNERS, metric="auto")
        evaluations = []
        for seed in _DIGITS_SEEDS:
            with self._step("digits: train", f"digits: training on the four corners, seed {seed}"):
                predicted = digits.classify(seed)
            adapter = self._adapter(bundle, predicted)
            evaluations.append(self._evaluate("digits", adapter, predicted, space))
            if seed == _DIGITS_SEEDS[0]:
                picture = plots.save(_grid_picture(adapter, predicted), self._out / "grid.png")
        constant = f"position {evaluations[0].constant}"
        part = Part("Digits on a 9×9 grid", _DIGITS, constant, _DIGITS_SEEDS, tuple(evaluations))
        return part, (picture,)

    def _languages(self) -> Part:
        with self._step("languages: register", "languages: registering the languages and families of CLDR"):
            self._register(_LANGUAGES, read(FAMILIES))
            space = language_space()
        with self._step("languages: identify", f"languages: asking the pretrained model {languages.MODEL}"):
            model = identified(languages.MODEL, space)
        bundle = self._bundle(_LANGUAGES, languages.MODEL, model.columns, metric="tree")
        evaluations = []
        unknown: tuple[Unknown, ...] = ()
        for seed in _LANGUAGES_SEEDS:
            with self._step("languages: calibrate", f"languages: fitting a temperature, seed {seed}"):
                predicted, temperature = languages.calibrated(model, seed)
            adapter = self._adapter(bundle, predicted)
            evaluations.append(self._evaluate("languages", adapter, predicted, space))
            if seed == _LANGUAGES_SEEDS[0]:
                unknown = tuple(
                    languages.answers_to(label, model, adapter, temperature) for label in languages.UNKNOWN
                )
        title = f"Languages ({languages.MODEL}, calibrated)"
        constant = f"'{languages.named(evaluations[0].constant)}'"
        return Part(title, _LANGUAGES, constant, _LANGUAGES_SEEDS, tuple(evaluations), unknown)

    def _animals(self, where: Path) -> tuple[Part, tuple[Answer, ...]]:
        nouns = data_file(where, "noun")
        with self._step("wordnet: read", f"wordnet: reading the nouns in {nouns}"):
            source = read(nouns, format="wordnet")
            words, glosses = synset_words(nouns), synset_glosses(nouns)
        if nouns != EXTRACT:
            with self._step("wordnet: register", f"wordnet: registering {len(words):,} nouns in the graph"):
                self._register(_NOUNS, source)
        with self._step("animals: register", "animals: registering the labels below 'animal'"):
            graph = wordnet.subtree(source.graph)
            self._register(_ANIMALS, source.of_part(graph))
        texts = masked_texts(graph.keys, glosses, words)
        space = metric_space(graph, metric="tree")
        evaluations = []
        for seed in _ANIMALS_SEEDS:
            observed = wordnet.choose_observed(graph, _N_OBSERVED, seed)
            with self._step("animals: train", f"animals: training a text classifier on glosses, seed {seed}"):
                predicted = wordnet.classify(space, texts, observed, seed)
            bundle = self._bundle(_ANIMALS, f"seed-{seed}", predicted.columns, metric="tree")
            evaluations.append(self._evaluate("animals", self._adapter(bundle, predicted), predicted, space))
        constant = f"'{graph.names[graph.keys.index(evaluations[0].constant)]}'"
        part = Part("Animals of WordNet", _ANIMALS, constant, _ANIMALS_SEEDS, tuple(evaluations))
        kind, widest = ("animals", _ANIMALS) if nouns == EXTRACT else ("nouns", _NOUNS)
        with self._step("cypher", "asking the graph two questions"):
            return part, (
                self._ask(f"Which {kind} have the most {kind} directly below them?", widest, _WIDEST),
                self._ask("How many animals are at each depth below animal?", _ANIMALS, _DEPTHS),
            )

    def _register(self, name: str, source: ReadResult | LabelGraph) -> None:
        self._registered.append(register(self._workspace, name, source))

    def _bundle(
        self, ontology: str, name: str, observed: tuple[str, ...], *, metric: Literal["auto", "tree"]
    ) -> str:
        """Build a bundle through a job, and return the name under which an adapter loads it."""
        with self._step("bundles", f"{ontology}: building the bundle {name!r}"):
            job = build_bundle_job(self._workspace, ontology, name, observed, metric=metric)
        if job.state is not State.DONE:
            raise GroveError(
                f"job {job.id[:12]} is {job.state}: {job.error}; see: grove jobs show {job.id[:12]}"
            )
        return f"{ontology}/{name}"

    def _adapter(self, bundle: str, predicted: Predicted) -> Adapter:
        artifacts_url = self._workspace.settings.artifacts_url
        return Adapter.load(bundle, predicted.columns, artifacts_url=artifacts_url)

    def _evaluate(self, part: str, adapter: Adapter, predicted: Predicted, space: MetricSpace) -> Evaluation:
        with self._step(
            "evaluate",
            f"{part}: scoring {len(predicted.truth):,} samples with the Fréchet mean and the baselines",
        ):
            return evaluate(
                adapter,
                predicted.probabilities,
                predicted.truth,
                space=space,
                train_truth=predicted.train_labels,
            )

    def _ask(self, question: str, ontology: str, cypher: str) -> Answer:
        version = self._workspace.catalog.version(ontology).digest
        answer = self._workspace.graph.run_user(cypher, {"version": version})
        return Answer(question, ontology, cypher, answer.columns, tuple(answer.rows))

    @contextmanager
    def _step(self, name: str, message: str) -> Iterator[None]:
        """Report that a step begins; add the seconds of the ``with`` block to those of the step `name`."""
        self._progress(message)
        begin = time.perf_counter()
        yield
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begin


def _grid_picture(adapter: Adapter, predicted: Predicted) -> plots.Figure:
    keys = adapter.keys
    columns = CompleteSpace(predicted.columns)  # with unit distances, the Fréchet mean is argmax
    argmax = frechet_mean(columns, predicted.columns, predicted.probabilities).index
    return plots.grid_errors(
        digits.SHAPE,
        keys.indices(digits.CORNERS),
        keys.indices(predicted.truth),
        {
            RULE_NAMES["argmax"]: keys.indices(predicted.columns)[argmax],
            RULE_NAMES["frechet_mean"]: adapter.predict_indices(predicted.probabilities),
        },
    )


def _shown_counts(part: Part) -> dict[str, list[int]]:
    return {RULE_NAMES[rule]: part.distance_counts(rule) for rule in ("argmax", "frechet_mean", "constant")}
