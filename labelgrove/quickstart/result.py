"""The results of the quickstart, as records and as text to print."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from labelgrove.adapter.evaluation import Evaluation
from labelgrove.ontology.extras import install_command
from labelgrove.ontology.versions.ingest import RegisterResult

__all__ = ["RULE_NAMES", "Answer", "Part", "QuickstartResult", "Unknown", "render"]

RULE_NAMES = {
    "argmax": "argmax",
    "frechet_mean": "Fréchet mean",
    "constant": "constant",
    "observed_only": "Fréchet mean, observed only",
    "crm": "CRM (least expected distance)",
    "nearest_observed": "nearest observed (oracle)",
}
"""The name of each rule of an evaluation in the quickstart, in the order of the tables."""


@dataclass(frozen=True)
class Unknown:
    """The most frequent answers to the samples of one label that the classifier does not know.

    `label` is the name of the label, and `n_samples` the number of its samples. `argmax` and `frechet_mean`
    are the name of the most frequent answer of the rule, and how often it was given.
    """

    label: str
    n_samples: int
    argmax: tuple[str, int]
    frechet_mean: tuple[str, int]


@dataclass(frozen=True)
class Part:
    """The results of one classifier, tested once for each seed.

    Attributes
    ----------
    title : str
    ontology : str
        The name under which its labels are registered.
    constant : str
        The name of the label that the constant rule answers with, for the first seed.
    seeds : tuple of int
    evaluations : tuple of Evaluation
        One evaluation for each seed.
    unknown : tuple of Unknown
        Answers to samples of some labels that the classifier does not know.
    """

    title: str
    ontology: str
    constant: str
    seeds: tuple[int, ...]
    evaluations: tuple[Evaluation, ...]
    unknown: tuple[Unknown, ...] = ()

    def mean(
        self,
        rule: str,
        score: str = "mean_squared_distance",
        samples: Literal["all", "unobserved"] = "all",
    ) -> float:
        """Return the mean over the seeds of one score of one rule, on all samples or those of some labels."""
        values = self._values(rule, score, samples)
        return sum(values) / len(values)

    def standard_error(self, rule: str, score: str = "mean_squared_distance") -> float | None:
        """Return the standard error of the mean over the seeds; None for a single seed."""
        values = self._values(rule, score, "all")
        if len(values) < 2:
            return None
        mean = sum(values) / len(values)
        return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))

    def distance_counts(self, rule: str) -> list[int]:
        """Count, over all seeds, the answers of `rule` at distance 0, 1, 2, ... from the truth."""
        columns = zip(*(e[rule].severity for e in self.evaluations), strict=True)
        return [sum(column) for column in columns]

    def _values(self, rule: str, score: str, samples: str) -> list[float]:
        return [float(getattr(getattr(e[rule], samples), score)) for e in self.evaluations]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the scores over seeds, and every evaluation."""
        return {
            "title": self.title,
            "ontology": self.ontology,
            "constant": self.constant,
            "seeds": list(self.seeds),
            "rules": {
                rule: {
                    "mean_squared_distance": self.mean(rule),
                    "standard_error": self.standard_error(rule),
                    "unobserved": self.mean(rule, samples="unobserved"),
                    "normalized": self.mean(rule, "normalized"),
                    "accuracy": self.mean(rule, "accuracy"),
                }
                for rule in RULE_NAMES
            },
            "unknown": [asdict(each) for each in self.unknown],
            "evaluations": [e.to_dict() for e in self.evaluations],
        }


@dataclass(frozen=True)
class Answer:
    """A question to the graph, in words and as Cypher, with the rows of the answer."""

    question: str
    ontology: str
    cypher: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "question": self.question,
            "ontology": self.ontology,
            "cypher": self.cypher,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
        }


@dataclass(frozen=True)
class QuickstartResult:
    """The results of `run`.

    Attributes
    ----------
    digits : Part
    languages : Part or None
        None if the package of the pretrained model is not installed.
    animals : Part or None
        None if `run` left this part out.
    registered : tuple of RegisterResult
        The ontologies that are now in the workspace.
    answers : tuple of Answer
        Answers of the graph; empty without the animals.
    pictures : tuple of Path
    report : Path
        The JSON file with this record.
    graph : str
        The engine and version of the graph store.
    seconds : mapping of str to float
        Wall-clock seconds of each step; ``"total"`` is the whole run.
    """

    digits: Part
    languages: Part | None
    animals: Part | None
    registered: tuple[RegisterResult, ...]
    answers: tuple[Answer, ...]
    pictures: tuple[Path, ...]
    report: Path
    graph: str
    seconds: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "digits": self.digits.to_dict(),
            "languages": None if self.languages is None else self.languages.to_dict(),
            "animals": None if self.animals is None else self.animals.to_dict(),
            "registered": [
                {"name": r.name, "digest": r.digest, "n_labels": r.n_labels, "n_edges": r.n_edges}
                for r in self.registered
            ],
            "answers": [answer.to_dict() for answer in self.answers],
            "pictures": [str(path) for path in self.pictures],
            "report": str(self.report),
            "graph": self.graph,
            "seconds": {step: round(seconds, 3) for step, seconds in self.seconds.items()},
        }


OWN_MODEL = """\
import numpy as np
from labelgrove import Adapter

columns = ["8,8", "0,0", "0,8", "8,0"]  # your classes, in the order of your model's columns
adapter = Adapter.load("quickstart-digits/corners", columns)
probabilities = np.array([[0.1, 0.5, 0.2, 0.2]])  # the output of your model for each sample
print(adapter.predict(probabilities), adapter.explain(probabilities[0]))
"""
"""Code that shows how to use the reader's own model with the bundle of the first part."""

OWN_LABELS = """\
grove ingest mine my-labels.csv                             # header child,parent, then lines such as cat,pet
grove bundle build mine model --observed my-classes.txt     # the columns of your model, one on each line
grove evaluate mine/model outputs.npy truth.txt --columns my-classes.txt --report page.html
"""
"""Commands that lead from the reader's own labels and model to an evaluation report."""


def render(result: QuickstartResult) -> str:
    """Return the result as text: a table and its meaning for each part, answers of the graph, and files."""
    blocks = [_part(result.digits)]
    if result.languages is None:
        blocks.append(f"To see this for a pretrained language identifier: {install_command('models')}")
    else:
        blocks.append(_part(result.languages))
    if result.animals is not None:
        blocks += [_part(result.animals), *map(_answer, result.answers)]
        if not any(r.name == "quickstart-wordnet" for r in result.registered):
            blocks.append(
                "These are the animals of WordNet 3.0, which come with labelgrove. If WordNet is\n"
                "installed (apt-get install wordnet-base, or WNHOME set to its folder), all its nouns go\n"
                "into the graph."
            )
    held = [[r.name, f"{r.n_labels:,}", f"{r.n_edges:,}", r.digest[:12]] for r in result.registered]
    blocks.append(
        f"In the graph ({result.graph}):\n" + _table(["ontology", "labels", "edges", "version"], held)
    )
    files = "\n".join(f"  {path}" for path in (*result.pictures, result.report))
    blocks.append(f"Pictures and report ({result.seconds['total']:.0f} s in all):\n{files}")
    blocks.append(f"To use a model of the four corners:\n{indent(OWN_MODEL, '  ').rstrip()}")
    blocks.append(f"To use your own model with your own labels:\n{indent(OWN_LABELS, '  ').rstrip()}")
    return "\n\n".join(blocks)


def _part(part: Part) -> str:
    first = part.evaluations[0]
    observed = sorted({e.n_observed for e in part.evaluations})
    shown = f"{observed[0]}" if len(observed) == 1 else f"{observed[0]} to {observed[-1]}"
    head = (
        f"{part.title}\n"
        f"{shown} of {first.n_labels:,} labels observed; {first.n_samples:,} test samples for each of "
        f"{len(part.seeds)} seeds; diameter {first.diameter:g} hops"
    )
    rows = []
    for rule, name in RULE_NAMES.items():
        error = part.standard_error(rule)
        spread = "" if error is None else f" ± {error:.2f}"
        rows.append(
            [
                name,
                f"{part.mean(rule):.2f}{spread}",
                f"{part.mean(rule, samples='unobserved'):.2f}",
                f"{part.mean(rule, 'normalized'):.4f}",
                f"{part.mean(rule, 'accuracy'):.4f}",
            ]
        )
    table = _table(["rule", "E[d²] (hops²)", "E[d²] unobserved", "E[d²]/diam²", "accuracy"], rows)
    return "\n".join([head, table, _meaning(part), *_unknown(part.unknown)])


def _meaning(part: Part) -> str:
    """Return in words what the table means, including what speaks against the Fréchet mean."""
    argmax, mean, constant = (part.mean(rule) for rule in ("argmax", "frechet_mean", "constant"))
    before, after = (part.mean(rule, "accuracy") for rule in ("argmax", "frechet_mean"))
    accuracy = f"exact accuracy {'falls' if after < before else 'rises'} from {before:.4f} to {after:.4f}"
    if after < before:
        accuracy += ": it hedges, so fewer answers are exactly right, and fewer are far off"
    oracle = part.mean("nearest_observed")
    side = "below" if mean < oracle else "above"
    return (
        f"Against argmax the Fréchet mean {_moves(argmax, mean)}; {accuracy}.\n"
        f"Against argmax a constant answer, {part.constant}, {_moves(argmax, constant)}; "
        f"against the constant the Fréchet mean {_moves(constant, mean)}.\n"
        f"Its E[d²] is {side} {oracle:.2f}, the smallest that a rule can reach if it answers only with "
        "observed labels."
    )


def _unknown(labels: Sequence[Unknown]) -> list[str]:
    """Return the lines that show the most frequent answers to labels that the classifier does not know."""
    if not labels:
        return []
    rows = [
        [each.label, *(f"{name}, {n} of {each.n_samples}" for name, n in (each.argmax, each.frechet_mean))]
        for each in labels
    ]
    return [
        "The most frequent answers to samples of labels that it does not know:",
        _table(["truth", "argmax", "Fréchet mean"], rows),
    ]


def _moves(before: float, after: float) -> str:
    return f"{'lowers' if after < before else 'raises'} E[d²] by {abs(after - before) / before:.0%}"


def _answer(answer: Answer) -> str:
    """Return a question, its command and the rows as text.

    In the command, single quotes protect ``$version`` from the shell.
    """
    rows = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in answer.rows]
    return f"{answer.question}\n  grove cypher --ontology {answer.ontology} '{answer.cypher}'\n" + _table(
        answer.columns, rows
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, with numbers aligned to the right and everything else to the left."""
    columns = list(zip(head, *rows, strict=True))
    aligned = []
    for title, *cells in columns:
        width = max(map(len, (title, *cells)))
        right = all(cell[:1].isdigit() for cell in cells)
        aligned.append([cell.rjust(width) if right else cell.ljust(width) for cell in (title, *cells)])
    return "\n".join(f"  {'  '.join(line)}".rstrip() for line in zip(*aligned, strict=True))
