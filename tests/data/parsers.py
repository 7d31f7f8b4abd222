"""Parsers of others, with which what is read of real files is compared."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

__all__ = ["parser"]


def parser(name: str) -> Any:
    """Return a module that only tests marked `data` need; without it they fail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # some read their files in an old way
            return importlib.import_module(name)
    except ImportError:
        pytest.fail(f"{name} is not installed: pip install -e '.[dev,oracles]'", pytrace=False)
