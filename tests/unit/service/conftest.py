"""Homes that tests only read or may change, and clients of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.unit.service.scoring_cases import fill_with_bundles
from tests.unit.service.service_cases import client_of, fill, fill_results, sign_in


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the ontologies of `service_cases.fill`."""
    home = tmp_path_factory.mktemp("service") / "home"
    fill(home)
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """A copy of the filled home, which the test may change."""
    shutil.copytree(filled, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    """A client with a session of the owner of this copy."""
    with client_of(home) as opened:
        sign_in(opened)
        yield opened


@pytest.fixture(scope="session")
def resulting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A home with results, and the id of each job by its kind, of `service_cases.fill_results`."""
    home = tmp_path_factory.mktemp("results") / "home"
    return home, fill_results(home)


@pytest.fixture(scope="session")
def with_bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the bundles of `scoring_cases.fill_with_bundles`."""
    home = tmp_path_factory.mktemp("bundles") / "home"
    fill_with_bundles(home)
    return home


@pytest.fixture(scope="module")
def scoring(with_bundles: Path) -> Iterator[TestClient]:
    """A client of the home with bundles."""
    with client_of(with_bundles) as client:
        yield client


@pytest.fixture(scope="module")
def reader(filled: Path) -> Iterator[TestClient]:
    """A client without a session; its tests change nothing."""
    with client_of(filled) as client:
        yield client


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[TestClient]:
    """A client with a session, of a home without ontologies."""
    with client_of(tmp_path / "home") as client:
        sign_in(client)
        yield client
