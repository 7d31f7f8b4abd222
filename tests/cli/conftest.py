"""Fixtures of the tests of the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from labelgrove.cli import grove


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return a function that runs `grove` in the test's folder and fails on an unexpected exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0, text: str | None = None) -> Result:
        result = CliRunner().invoke(grove, list(arguments), input=text)
        assert result.exit_code == code, (arguments, result.output, result.exception)
        return result

    return run
