"""Record defects with file and line while a source is read, and report them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labelgrove.ontology.errors import counted
from labelgrove.ontology.readers.defectrules import CAUSES_OF_ROOTS, CHOSEN_FOR_ROOTS, RULES, SEVERITY

__all__ = ["Defect", "Recorder", "Report", "place", "printable"]

_KEPT_TEXTS = 20
_EXCERPT = 240
_LISTED = 12  # kinds of defects that a repr names


@dataclass(frozen=True, repr=False)
class Defect:
    """All occurrences of one kind of defect.

    Attributes
    ----------
    code : str
        Key into `ontology.readers.defectrules.RULES`.
    severity : str
        ``"error"`` if the policy makes the read fail, ``"warn"`` if the content is kept as it is, and
        ``"info"`` if the content is repaired.
    policy : str
        What the reader was told to do about this kind of defect: ``"error"``, ``"warn"``, ``"fix"`` or a
        policy that only the defect ``roots`` has.
    count : int
        Number of occurrences.
    examples : tuple of (file, line, text)
        The first 20 occurrences. Lines are numbered from 1, and 0 means the file as a whole. The text is an
        excerpt of the source, or a description of what is wrong there.
    places : tuple of (file, line)
        The place of each occurrence. A stored report contains only the places of the examples.
    message, remedy : str
        What is wrong with the file, and how to correct it.
    """

    code: str
    severity: str
    policy: str
    count: int
    examples: tuple[tuple[str, int, str], ...]
    places: tuple[tuple[str, int], ...]
    message: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """Return the defect as a dictionary of plain values, for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "policy": self.policy,
            "count": self.count,
            "message": self.message,
            "remedy": self.remedy,
            "examples": [{"file": f, "line": n, "text": t} for f, n, t in self.examples],
            "places": [place(f, n) for f, n in self.places],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Defect:
        """Return the defect that `to_dict` turned into `values`.

        The attribute `places` of the new defect contains only the places of the examples.
        """
        examples = tuple((e["file"], e["line"], e["text"]) for e in values["examples"])
        named = {name: values[name] for name in ("code", "severity", "policy", "count", "message", "remedy")}
        return cls(**named, examples=examples, places=tuple((file, line) for file, line, _ in examples))

    def shortened(self) -> Defect:
        """Return the defect as stored reports contain it, with only the places of its examples."""
        return replace(self, places=tuple((file, line) for file, line, _ in self.examples))

    def __repr__(self) -> str:
        return f"Defect({self.code!r}, severity={self.severity!r}, count={self.count})"


@dataclass(frozen=True, repr=False)
class Report:
    """The outcome of reading one source.

    Attributes
    ----------
    source : str
        Path of the source, as the caller of the reader gave it.
    format : str
        Name of the format that was used; ``"unknown"`` if the source matches no format.
    defects : tuple of Defect
        One entry for each kind of defect: errors first, then warnings, then repairs. There is one exception:
        defects that probably caused several roots come before the defect ``roots``, even if they are less
        severe.
    counts : mapping of str to int
        ``labels``, ``edges`` and ``roots`` are the numbers in the graph. All three are 0 if there is no
        graph; ``roots`` is also 0 if the graph is undirected. ``error``, ``warn`` and ``info`` are the
        numbers of occurrences of each severity.
    """

    source: str
    format: str
    defects: tuple[Defect, ...]
    counts: Mapping[str, int]

    @property
    def errors(self) -> tuple[Defect, ...]:
        """The defects because of which no graph was made."""
        return tuple(d for d in self.defects if d.severity == "error")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary of plain values, for JSON."""
        return {
            "source": self.source,
            "format": self.format,
            "counts": dict(self.counts),
            "defects": [d.to_dict() for d in self.defects],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:
        """Return the report that `to_dict` turned into `values`.

        The attribute `places` of each defect in it contains only the places of the defect's examples.
        """
        defects = tuple(map(Defect.from_dict, values["defects"]))
        return cls(values["source"], values["format"], defects, dict(values["counts"]))

    def shortened(self) -> Report:
        """Return the report in its stored form, with only the places of the examples."""
        return replace(self, defects=tuple(defect.shortened() for defect in self.defects))

    def __repr__(self) -> str:
        codes = [f"{defect.code}: {defect.count}" for defect in self.defects]
        shown = ", ".join(codes[:_LISTED]) + (", ..." if len(codes) > _LISTED else "")
        source = printable(self.source)
        return f"Report({source!r}, format={self.format!r}, counts={dict(self.counts)}, defects={{{shown}}})"

    def render(self, examples: int = 5) -> str:
        """Return the report as text, with up to `examples` places for each kind of defect."""
        counts = self.counts
        held = f"{counted(counts['labels'], 'label')}, {counted(counts['edges'], 'edge')};"
        if self.errors:  # there is no graph
            held = "not read:"
        lines = [
            f"{printable(self.source)} ({self.format}): {held} {counted(counts['error'], 'error')}, "
            f"{counted(counts['warn'], 'warning')}, {counted(counts['info'], 'repair')}"
        ]
        for defect in self.defects:
            lines.append(f"{defect.severity:<5} {defect.code} ({defect.count}): {defect.message}")
            lines += [f"      {place(printable(f), n)}: {t}" for f, n, t in defect.examples[:examples]]
            left = defect.count - min(examples, len(defect.examples))
            if left > 0:
                lines.append(f"      ... and {left} more")
            lines.append(f"      -> {defect.remedy}")
        return "\n".join(lines)


@dataclass
class _Found:
    places: list[tuple[str, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Recorder:
    """Collect defects while a source is read.

    Parameters
    ----------
    policies : mapping of code to policy
        The policy of every code, from `resolve_policies`.
    """

    def __init__(self, policies: Mapping[str, str]) -> None:
        self._policies = policies
        self._found: dict[str, _Found] = {}

    def policy(self, code: str) -> str:
        """Return the policy that applies to `code`."""
        return self._policies[code]

    def add(self, code: str, file: str, line: int, text: str | Callable[[], str]) -> None:
        """Record an occurrence of the defect `code` at ``file:line``; the report shows `text` with it.

        If a text takes long to find, give a function that returns it: only those of the first occurrences
        are shown.
        """
        found = self._found.setdefault(code, _Found())
        found.places.append((file, line))
        if len(found.texts) < _KEPT_TEXTS:
            found.texts.append(printable(text if isinstance(text, str) else text()))

    @property
    def has_errors(self) -> bool:
        """Return whether a defect found so far makes it impossible to build a graph."""
        return any(self._policies[code] == "error" for code in self._found)

    def report(self, source: str, format: str, *, labels: int, edges: int, roots: int) -> Report:
        """Return the report on all defects recorded so far, in the order that `Report` describes."""
        ranks = {severity: i for i, severity in enumerate(("error", "warn", "info"))}

        def rank(code: str) -> int:
            own = ranks[SEVERITY[self._policies[code]]]
            return min(own, rank("roots")) if code in self._causes_of_roots() else own

        codes = sorted((code for code in RULES if code in self._found), key=rank)
        defects = tuple(self._defect(code) for code in codes)
        counts = {"labels": labels, "edges": edges, "roots": roots} | {
            severity: sum(d.count for d in defects if d.severity == severity) for severity in ranks
        }
        return Report(source, format, defects, counts)

    def _causes_of_roots(self) -> list[str]:
        """Return the codes of those recorded defects that probably caused the defect ``roots``."""
        return [code for code in CAUSES_OF_ROOTS if code in self._found and "roots" in self._found]

    def _defect(self, code: str) -> Defect:
        rule, found, policy = RULES[code], self._found[code], self._policies[code]
        remedy = rule.remedy
        if policy == "fix":
            remedy = f"repaired: {rule.fix}"
        elif policy == "error" and "fix" in rule.policies:
            remedy = f"{rule.remedy}; or choose --policy {code}=fix: {rule.fix}"
        causes = self._causes_of_roots()
        if code in causes:
            remedy = f"this is probably the cause of the several roots: {remedy}"
        elif code == "roots":
            remedy = CHOSEN_FOR_ROOTS.get(policy, remedy)
            if causes:
                first = f"see {' and '.join(causes)} first, the most likely cause"
                remedy = f"{first}; otherwise {remedy}" if policy == "error" else f"{remedy}; {first}"
        examples = tuple((*place, text) for place, text in zip(found.places, found.texts, strict=False))
        return Defect(
            code,
            SEVERITY[policy],
            policy,
            len(found.places),
            examples,
            tuple(found.places),
            rule.says,
            remedy,
        )


def place(file: str, line: int) -> str:
    """Return the place of a defect, as text; line 0 means the file as a whole.

    >>> place("a.csv", 3), place("a.csv", 0)
    ('a.csv:3', 'a.csv')
    """
    return f"{file}:{line}" if line else file


def printable(text: str) -> str:
    r"""Cut `text` to 240 characters, and escape the characters that disturb a terminal or a JSON reader.

    >>> printable("a\x1b[31m\tb\ud800")
    'a\\x1b[31m\\tb\\ud800'
    """
    cut = text if len(text) <= _EXCERPT else text[: _EXCERPT - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
