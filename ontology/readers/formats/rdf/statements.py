"""Sort the statements of a file by what they mean to a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from labelgrove.ontology.readers.formats.rdf.terms import ROLES, Statement, Text, is_blank

__all__ = ["Statements", "Value"]


class Value(NamedTuple):
    """The object of a statement, and the line of the statement."""

    line: int
    value: str | Text


class Statements:
    """The statements that matter to a hierarchy, by role and subject.

    A statement that is repeated, even in another graph of the file, is kept once, with its first line.
    """

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._by: dict[str, dict[str, dict[str | Text, int]]] = {role: {} for role in ROLES.values()}
        self._first: dict[str, int] = {}
        for line, subject, predicate, value in statements:
            role = ROLES.get(predicate)
            if role is None:
                continue
            values = self._by[role].setdefault(subject, {})
            if line < values.get(value, line + 1):
                values[value] = line
            if line < self._first.get(subject, line + 1):
                self._first[subject] = line

    def line(self, subject: str) -> int:
        """Return the first line of the statements about a subject; 0 if there is none."""
        return self._first.get(subject, 0)

    def has(self, role: str, subject: str) -> bool:
        """Return whether there is a statement of a role about a subject."""
        return subject in self._by[role]

    def values(self, role: str, subject: str) -> list[Value]:
        """Return the objects of the statements of a role about a subject."""
        found = self._by[role].get(subject)
        return [] if found is None else [Value(line, value) for value, line in found.items()]

    def all(self, role: str) -> Iterator[tuple[str, Value]]:
        """Yield the subject, object and line of each statement of a role."""
        for subject, values in self._by[role].items():
            for value, line in values.items():
                yield subject, Value(line, value)

    def resources(self, role: str) -> Iterator[tuple[str, str, int]]:
        """Yield (subject, object, line) of each statement of a role between two things that have an IRI."""
        for subject, (line, value) in self.all(role):
            if isinstance(value, str) and not is_blank(value) and not is_blank(subject):
                yield subject, value, line
