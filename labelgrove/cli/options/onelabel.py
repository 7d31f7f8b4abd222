"""Open a version for browsing, and find the one label that a word on the command line means."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.cli.options.workspace import name_and_version
from labelgrove.cli.printing.text import note
from labelgrove.ontology.errors import first_few

if TYPE_CHECKING:
    from labelgrove.ontology.browse.answers import Answers
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["OpenVersion"]

_SHOWN_CANDIDATES = 5


class OpenVersion:
    """A version of an ontology, open for browsing.

    Parameters
    ----------
    workspace : Workspace
    given : str
        What the user gave: ``NAME`` or ``NAME@VERSION``.

    Attributes
    ----------
    ontology : str
    answers : Answers
    """

    ontology: str
    answers: Answers

    def __init__(self, workspace: Workspace, given: str) -> None:
        from labelgrove.ontology.browse.answers import Answers

        self.given = given
        self.ontology, beginning = name_and_version(given)
        version = workspace.catalog.version(self.ontology, beginning)
        self.definition = workspace.definition_of(self.ontology, version.digest)
        annotations = functools.cache(lambda: workspace.annotations(self.ontology, version.digest))
        self.answers = Answers(workspace.label_index_of(version), annotations)

    def label(self, text: str) -> int:
        """Return the label that `text` means, as `ontology.browse.names.search.Search.named` finds it.

        If it is a former key, a note says which label replaced it.

        Raises
        ------
        UnknownLabelError
            If there is no such label; the message lists names that are spelled like `text` or, for a key that
            the source retired, labels to consider.
        InputError
            If several labels have this name; the message lists them with their parents and definitions.
        """
        found = self.answers.index.search.named(text)
        if not found:
            raise self._unknown(text)
        if len(found) > 1:
            raise self._ambiguous(text, found)
        self._note_replacement(text, found[0])
        return found[0]

    def _note_replacement(self, text: str, label: int) -> None:
        from labelgrove.adapter.columns.labelnames import key_and_name

        graph = self.answers.index.graph
        if text in (graph.keys[label], graph.names[label]):
            return
        shown = key_and_name(label, graph.keys, graph.names)
        if text in self.answers.show(label)["alternative_id"]:
            note(f"{text!r} is a former key of {shown}")
        elif self.answers.retired(text) is not None:
            note(f"{text!r} is retired; it is replaced by {shown}")

    def _unknown(self, text: str) -> Exception:
        from labelgrove.ontology.errors import UnknownLabelError
        from labelgrove.ontology.spelling import listed_close

        if (retired := self.answers.retired(text)) is not None:
            return UnknownLabelError(f"{text!r} is not a label: {self._why_retired(retired)}")
        command = shlex.join(["grove", "labels", "search", self.given, text])
        if meant := self._loosely_named(text):
            return UnknownLabelError(
                f"{text!r} names no label of {self.ontology!r}, but is {meant}; give a key, "
                f"or see all: {command}"
            )
        return UnknownLabelError(
            f"{text!r} is neither the key nor the name of a label of {self.ontology!r}"
            f"{listed_close(self.answers.close_to(text))}; search for a part of it: {command}"
        )

    def _loosely_named(self, text: str) -> str:
        """Return which labels have `text` as a narrow, broad or related name; empty if none has."""
        from labelgrove.adapter.columns.labelnames import key_and_name

        graph = self.answers.index.graph
        shown = [
            f"a {hit.kind} name of {key_and_name(hit.label, graph.keys, graph.names)}"
            for hit in self.answers.index.search.suggest(text, limit=_SHOWN_CANDIDATES)
            if hit.match == "exact"
        ]
        return first_few(shown) if shown else ""

    def _why_retired(self, retired: Mapping[str, Any]) -> str:
        said = ["the source retired it"]
        for kind, verb in (("replaced_by", "names as its replacement"), ("consider", "says to consider")):
            if keys := retired[kind]:
                shown = [f"{one['key']!r}" + (f" ({one['name']})" if one["name"] else "") for one in keys]
                said.append(f"{verb} {first_few(shown)}")
        return " and ".join(said if len(said) > 1 else [*said, "names no replacement"])

    def _ambiguous(self, text: str, labels: list[int]) -> Exception:
        from labelgrove.adapter.columns.labelnames import describe_graph, key_and_name
        from labelgrove.ontology.errors import InputError

        graph = self.answers.index.graph
        describe = describe_graph(graph, self.definition)
        shown = [
            f"{key_and_name(i, graph.keys, graph.names)}, {describe(i)}" for i in labels[:_SHOWN_CANDIDATES]
        ]
        if len(labels) > len(shown):
            shown.append(f"and {len(labels) - len(shown):,} more")
        advice = "give the key of the label that you mean"
        return InputError("\n    ".join([f"{text!r} is ambiguous; {advice}:", *shown]))
