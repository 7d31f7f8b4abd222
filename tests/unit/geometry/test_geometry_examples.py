"""Every example in the docstrings of the geometry runs and shows what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import ontology.geometry

MODULES = [f"ontology.geometry.{module.name}" for module in pkgutil.iter_modules(ontology.geometry.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [
        example
        for name in MODULES
        for example in finder.find(importlib.import_module(name))
        if example.examples
    ]
    assert len(found) >= 10
