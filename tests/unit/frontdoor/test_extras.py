"""The command that a message names installs what it says, from wherever labelgrove came."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from labelgrove.ontology import extras
from labelgrove.ontology.errors import MissingExtraError

ROOT = Path(__file__).parents[3]
SCIENCE = ["highspy<2,>=1.10", "numba<1,>=0.61", "safetensors<1,>=0.5", "scipy<2,>=1.15"]


@pytest.fixture
def came_from(tmp_path, monkeypatch):
    """Make an installation of labelgrove, of two extras, that came from an address."""

    def installed(origin: dict[str, object] | None) -> None:
        folder = tmp_path / "site" / "labelgrove-1.2.dist-info"
        folder.mkdir(parents=True)
        listed = [*(f"{r}; extra == 'science'" for r in SCIENCE), "s3fs>=2025.3; extra == 's3'", "numpy>=2.0"]
        lines = ["Metadata-Version: 2.4", "Name: labelgrove", "Version: 1.2"]
        lines += [f"Requires-Dist: {requirement}" for requirement in listed]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])

    return installed


def test_what_came_from_an_index_is_asked_for_by_name(came_from):
    came_from(None)
    assert extras.install_command("science") == "pip install 'labelgrove[science]'"
    assert extras.upgrade_command("service") == "pip install --upgrade 'labelgrove[service]'"
    assert extras.upgrade_command() == "pip install --upgrade labelgrove"


@pytest.mark.parametrize("editable", [False, True])
def test_what_came_from_a_folder_is_asked_for_by_the_folder(came_from, editable, tmp_path):
    folder = tmp_path / "a check out"
    folder.mkdir()
    came_from({"url": folder.as_uri(), "dir_info": {"editable": editable}})
    option = "-e " if editable else ""
    assert extras.install_command("science") == f"pip install {option}'{folder}[science]'"
    assert extras.upgrade_command() == f"pip install --upgrade {option}'{folder}'"


def test_what_came_from_a_file_is_asked_for_by_the_file(came_from, tmp_path):
    wheel = tmp_path / "labelgrove-1.2-py3-none-any.whl"
    wheel.touch()
    came_from({"url": wheel.as_uri(), "archive_info": {}})
    assert extras.install_command("s3") == f"pip install 'labelgrove[s3] @ {wheel.as_uri()}'"


@pytest.mark.parametrize(("revision", "asked"), [(None, ""), ("v1.2", "@v1.2")])
def test_what_came_from_a_repository_is_asked_for_by_its_address(came_from, revision, asked):
    vcs = {"vcs": "git", "commit_id": "0" * 40} | ({"requested_revision": revision} if revision else {})
    came_from({"url": "https://code.example/labelgrove", "vcs_info": vcs})
    address = f"git+https://code.example/labelgrove{asked}"
    assert extras.install_command("s3") == f"pip install 'labelgrove[s3] @ {address}'"


def test_where_the_source_is_gone_the_packages_are_named(came_from, tmp_path):
    came_from({"url": (tmp_path / "gone").as_uri(), "dir_info": {}})
    named = shlex.split(extras.install_command("science"))
    assert named == ["pip", "install", *SCIENCE]
    assert extras.upgrade_command() == "pip install --upgrade labelgrove"


def test_a_checkout_that_is_not_installed_is_asked_for_by_its_folder(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert extras.install_command("science") == f"pip install '{ROOT}[science]'"


def test_a_message_says_who_needs_which_package_and_carries_its_name(came_from):
    came_from(None)
    error = MissingExtraError.of("scipy", "science", "measuring paths")
    assert str(error) == (
        "measuring paths needs the package 'scipy' of the extra 'science'; "
        "install it with: pip install 'labelgrove[science]'"
    )
    assert error.name == "scipy"


def test_pip_takes_the_command_of_this_checkout():
    """As far as resolving it: the folder is a project, and has the extra."""
    command = shlex.split(extras.install_command("plots").replace(" -e ", " "))
    assert command[-1] == f"{ROOT}[plots]"
    options = ["--dry-run", "--no-deps", "--no-build-isolation", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", *command, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stderr


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_commands_in_the_docs_work_before_the_project_is_on_an_index(page):
    path = ROOT / page if (ROOT / page).exists() else ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    wrong = re.findall(r"pip install [^`\n]*labelgrove(?![^`\n]*@)[^`\n]*", text)
    assert wrong == []
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"pip install [^`\n]*?\.\[([a-z0-9,]+)\]", text)
    assert {extra for each in named for extra in each.split(",")} <= set(known)
