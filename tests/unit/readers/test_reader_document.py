"""docs/formats.md says what the tables in the code say, and the examples in docstrings hold."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import labelgrove.ontology.readers
from labelgrove.ontology.readers import RULES, defectrules, formats, read
from labelgrove.ontology.readers.defectrules import SEVERITY

DOCUMENT = Path(__file__).parents[3] / "docs" / "formats.md"


def table_rows(title: str) -> list[list[str]]:
    """Cells of the first table below a heading."""
    text = DOCUMENT.read_text(encoding="utf-8")
    _, _, section = text.partition(f"\n## {title}\n")
    rows = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_every_defect_has_its_row():
    expected = [
        [
            f"`{rule.code}`",
            SEVERITY[rule.default],
            ", ".join(f"`{policy}`" for policy in rule.policies),
            rule.says,
            rule.fix or "-",
        ]
        for rule in RULES.values()
    ]
    assert table_rows("Defects") == expected


def test_every_format_has_its_row():
    expected = [
        [f"`{f.name}`", f.title, ", ".join(f"`{o}`" for o in (*f.options, "root"))] for f in formats()
    ]
    assert [row[:3] for row in table_rows("Formats")] == expected


def test_every_option_is_described():
    options = set(inspect.signature(read).parameters) - {"path", "strict", "format", "policies"}
    assert {row[0].strip("`") for row in table_rows("Options")} == options


def test_every_code_stands_once_in_the_table():
    codes = [rule.code for rule in defectrules._TABLE]
    assert len(set(codes)) == len(codes)


def test_rules_offer_what_they_can_do():
    for rule in RULES.values():
        assert rule.default in SEVERITY
        assert set(rule.policies) <= set(SEVERITY)
        assert ("fix" in rule.policies) == bool(rule.fix), rule.code
        assert rule.says
        assert rule.remedy


@pytest.mark.parametrize(
    "name",
    ["", *(f".{module.name}" for module in pkgutil.iter_modules(labelgrove.ontology.readers.__path__))],
)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"labelgrove.ontology.readers{name}")
    assert doctest.testmod(module).failed == 0
