"""Fixtures of the tests of the command line."""

from __future__ import annotations

import shutil
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


@pytest.fixture(scope="session")
def _kept_homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture
def filled_home(
    request: pytest.FixtureRequest, tmp_path: Path, _kept_homes: Path
) -> Callable[[Callable[[], object]], None]:
    """Return a function that fills the test's home by calling a function, once for each test file.

    Later tests of the file get a copy of the home as it was then. So the function must always do the same,
    and write nothing else that tests need.
    """

    def fill(make: Callable[[], object]) -> None:
        home, kept = tmp_path / "home", _kept_homes / request.module.__name__
        if kept.exists():
            shutil.copytree(kept, home)
        else:
            make()
            shutil.copytree(home, kept)

    return fill
