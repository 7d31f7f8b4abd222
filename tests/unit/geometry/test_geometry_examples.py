"""Every example in the docstrings of the geometry runs and shows what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import labelgrove.ontology.geometry

MODULES = [
    *(
        module.name
        for module in pkgutil.walk_packages(
            labelgrove.ontology.geometry.__path__, "labelgrove.ontology.geometry."
        )
    ),
    "labelgrove.ontology.lazynames",
    "labelgrove.ontology.components",
    "labelgrove.datasets.randomgraphs",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples_in_every_package() -> None:
    finder = doctest.DocTestFinder()
    shown = {name for name in MODULES if any(e.examples for e in finder.find(importlib.import_module(name)))}
    packages = [name for name in MODULES if hasattr(importlib.import_module(name), "__path__")]
    bare = [one for one in packages if not any(name.startswith(f"{one}.") for name in shown)]
    assert all(name.startswith("labelgrove.ontology.geometry.kernels") for name in bare)
    assert len(shown) >= 30
