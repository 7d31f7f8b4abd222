"""One case of the malformed corpus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One malformed source: what is expected of reading it."""

    format: str
    code: str
    line: int
    content: bytes
    options: dict[str, Any] = field(default_factory=dict)
    labels: bytes | None = None
    name: str = "source.txt"
    note: str = ""
    beside: dict[str, bytes] = field(default_factory=dict)
    """Files beside the source, by name; the defect is in the first of them."""

    @property
    def id(self) -> str:
        return "-".join(filter(None, (self.format, self.code, self.note)))

    @property
    def in_file(self) -> str:
        """Name of the file with the defect."""
        return next(iter(self.beside), "train.csv" if self.labels is not None else self.name)
