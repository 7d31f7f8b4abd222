"""What is published: the source distribution is complete, and the page on an index leads somewhere."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
PLACEHOLDER = "https://labelgrove.invalid"


def built(kind: str, source: Path, folder: Path) -> Path:
    """Build a distribution of a source tree, and return the file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    sdist = built("sdist", CHECKOUT, tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory) -> Path:
    return built("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


def test_a_source_distribution_holds_every_file_of_the_repository(unpacked):
    if not (CHECKOUT / ".git").exists():
        pytest.skip("this tree is no git checkout: it may be an unpacked source distribution itself")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
        text=True,
    )
    files = {path for path in listed.stdout.splitlines() if (CHECKOUT / path).is_file()}
    rooms = (
        "adapter/",
        "ontology/",
        "workers/",
    )  # links lead to these in a checkout, and none in a distribution
    there = {f"labelgrove/{path}" if path.startswith(rooms) else path for path in files}
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert held == there | {"PKG-INFO"}


def test_a_wheel_of_it_is_that_of_the_checkout(unpacked, wheel, tmp_path):
    of_checkout = built("wheel", CHECKOUT, tmp_path)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(of_checkout) as other:
        assert one.namelist() == other.namelist()
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


def test_the_tests_run_from_it(unpacked):
    """The README's test command finds its files, and the tests are collected and pass."""
    readme = (unpacked / "README.md").read_text(encoding="utf-8")
    command = readme.partition("<!-- test-command -->")[2].split("```")[1]
    assert (unpacked / re.search(r"-c (\S+)", command)[1]).is_file()
    assert (unpacked / "tests" / "services" / "__main__.py").is_file()
    some = ["tests/unit/labelgraph/test_labelgraph.py", "tests/architecture/test_packaging.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *some],
        cwd=unpacked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert str(CHECKOUT) not in done.stdout


def test_a_page_on_an_index_has_no_relative_link(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    shown, source = (
        (text.split("```")[::2], text.split("```")[1::2])
        for text in (
            metadata.get_payload(decode=True).decode(),
            (CHECKOUT / "README.md").read_text(encoding="utf-8"),
        )
    )
    assert shown[1] == source[1]  # code stays as it is
    targets, relative = (re.findall(r"\]\(([^)]+)\)", "".join(part)) for part in (shown[0], source[0]))
    assert len(targets) == len(relative) > 20
    address, version = PROJECT["project"]["urls"]["Repository"], metadata["Version"]
    for target, link in zip(targets, relative, strict=True):
        assert re.fullmatch(rf"{re.escape(address)}/(raw|blob)/v{version}/{re.escape(link)}", target)
        assert ("/raw/" in target) == link.endswith((".png", ".svg"))
        assert (CHECKOUT / link.partition("#")[0]).is_file()


def test_every_address_is_that_of_the_repository():
    project, tool = PROJECT["project"], PROJECT["tool"]["hatch"]["metadata"]["hooks"]
    address = project["urls"]["Repository"]
    replacements = [each["replacement"] for each in tool["fancy-pypi-readme"]["substitutions"]]
    assert len(replacements) == 2
    assert all(f"({address}/" in replacement for replacement in replacements)
    assert all(url == address or url.startswith(f"{address}/") for url in project["urls"].values())


def test_no_index_takes_a_distribution_whose_addresses_are_placeholders():
    project = PROJECT["project"]
    kept_back = any(classifier.startswith("Private ::") for classifier in project["classifiers"])
    assert kept_back == (project["urls"]["Repository"] == PLACEHOLDER)


def test_the_licenses_of_what_is_carried_stand_in_the_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        licenses = {n.partition("/licenses/")[2] for n in archive.namelist() if "/licenses/" in n}
        carried = {
            "labelgrove/datasets/pretrained/LICENSE.Unicode": ["languages.csv.gz", "texts.csv.gz"],
            "labelgrove/quickstart/LICENSE.WordNet": ["animals.noun.gz"],
        }
        assert licenses == {"LICENSE", *carried}
        for license, files in carried.items():
            folder = license.rpartition("/")[0]
            assert {license, *(f"{folder}/{file}" for file in files)} <= set(archive.namelist())
