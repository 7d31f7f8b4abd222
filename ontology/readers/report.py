"""What a reader found: defects with file and line, gathered while reading and shown afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ontology.readers.rules import RULES, SEVERITY

__all__ = ["Defect", "Recorder", "Report", "printable"]

_KEPT_TEXTS = 20
_EXCERPT = 160


@dataclass(frozen=True)
class Defect:
    """All occurrences of one kind of defect.

    Attributes
    ----------
    code : str
        Key into `ontology.readers.rules.RULES`.
    severity : str
        ``"error"``, ``"warn"`` or ``"info"``, as the policy decides.
    policy : str
        The policy in force.
    count : int
        Number of occurrences.
    examples : tuple of (file, line, text)
        The first 20; lines count from 1, and 0 stands for the file as a whole.
    places : tuple of (file, line)
        Where every occurrence stands; of lines that all end alike (``crlf``), the first.
    message, remedy : str
        What is wrong, and what to do.
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
        """Return plain values for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "policy": self.policy,
            "count": self.count,
            "message": self.message,
            "remedy": self.remedy,
            "examples": [{"file": f, "line": n, "text": t} for f, n, t in self.examples],
            "places": [f"{f}:{n}" for f, n in self.places],
        }


@dataclass(frozen=True)
class Report:
    """The outcome of reading one source.

    Attributes
    ----------
    source : str
        Path as it was given.
    format : str
        Name of the format it was read as.
    defects : tuple of Defect
        Errors first, then warnings, then repairs; each kind once.
    counts : mapping of str to int
        ``labels``, ``edges`` and ``roots`` of the graph, 0 where none came out (``roots`` also where it is
        undirected); ``error``, ``warn``, ``info``: occurrences of each severity.
    """

    source: str
    format: str
    defects: tuple[Defect, ...]
    counts: Mapping[str, int]

    @property
    def errors(self) -> tuple[Defect, ...]:
        """The defects that stop the source."""
        return tuple(d for d in self.defects if d.severity == "error")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "source": self.source,
            "format": self.format,
            "counts": dict(self.counts),
            "defects": [d.to_dict() for d in self.defects],
        }

    def render(self, examples: int = 5) -> str:
        """Return the report as text, with up to `examples` places for each kind of defect."""
        counts = self.counts
        lines = [
            f"{printable(self.source)} ({self.format}): {counts['labels']} labels, {counts['edges']} edges; "
            f"{counts['error']} errors, {counts['warn']} warnings, {counts['info']} repairs"
        ]
        for defect in self.defects:
            lines.append(f"{defect.severity:<5} {defect.code} ({defect.count}): {defect.message}")
            lines += [f"      {printable(f)}:{n}: {t}" for f, n, t in defect.examples[:examples]]
            left = defect.count - min(examples, len(defect.examples))
            if left > 0:
                lines.append(f"      ... and {left} more")
            lines.append(f"      -> {defect.remedy}")
        return "\n".join(lines)


@dataclass
class _Found:
    count: int = 0
    places: list[tuple[str, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Recorder:
    """Gathers defects while a source is read.

    Parameters
    ----------
    policies : mapping of code to policy
        The policy of every code, from `resolve_policies`.
    """

    def __init__(self, policies: Mapping[str, str]) -> None:
        self._policies = policies
        self._found: dict[str, _Found] = {}

    def policy(self, code: str) -> str:
        """Return the policy in force for `code`."""
        return self._policies[code]

    def add(self, code: str, file: str, line: int, text: str, count: int = 1) -> None:
        """Note `count` occurrences of `code` at ``file:line``, showing `text`."""
        found = self._found.setdefault(code, _Found())
        found.count += count
        found.places.append((file, line))
        if len(found.texts) < _KEPT_TEXTS:
            found.texts.append(printable(text))

    @property
    def has_errors(self) -> bool:
        """Whether anything found so far stops the source."""
        return any(self._policies[code] == "error" for code in self._found)

    def report(self, source: str, format: str, *, labels: int, edges: int, roots: int) -> Report:
        """Return everything found, errors first."""
        ranks = {severity: i for i, severity in enumerate(("error", "warn", "info"))}
        codes = sorted(
            (code for code in RULES if code in self._found), key=lambda c: ranks[SEVERITY[self._policies[c]]]
        )
        defects = tuple(self._defect(code) for code in codes)
        counts = {"labels": labels, "edges": edges, "roots": roots} | {
            severity: sum(d.count for d in defects if d.severity == severity) for severity in ranks
        }
        return Report(source, format, defects, counts)

    def _defect(self, code: str) -> Defect:
        rule, found, policy = RULES[code], self._found[code], self._policies[code]
        remedy = rule.remedy
        if policy == "fix":
            remedy = f"repaired: {rule.fix}"
        elif policy == "error" and "fix" in rule.policies:
            remedy = f"{rule.remedy}; or --policy {code}=fix: {rule.fix}"
        examples = tuple((*place, text) for place, text in zip(found.places, found.texts, strict=False))
        return Defect(
            code,
            SEVERITY[policy],
            policy,
            found.count,
            examples,
            tuple(found.places),
            rule.says,
            remedy,
        )


def printable(text: str) -> str:
    r"""Return `text` cut to 160 characters, with whatever a terminal or JSON reader may trip over escaped.

    >>> printable("a\x1b[31m\tb\ud800")
    'a\\x1b[31m\\tb\\ud800'
    """
    cut = text if len(text) <= _EXCERPT else text[: _EXCERPT - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
