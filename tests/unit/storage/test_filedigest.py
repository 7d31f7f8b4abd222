"""The digest of what was read: of contents, whatever the path."""

import hashlib

import pytest

from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.store.filedigest import sha256_of


def test_a_digest_tells_contents_and_no_path(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"oak" * 700_000)
    digests = {sha256_of(tmp_path / name) for name in ("a", "b")}
    assert digests == {hashlib.sha256(b"oak" * 700_000).hexdigest()}


def test_a_folder_is_its_files_in_order(tmp_path):
    (tmp_path / "folder" / "z").mkdir(parents=True)
    (tmp_path / "folder" / "z" / "first").write_bytes(b"2")
    (tmp_path / "folder" / "a").write_bytes(b"1")
    assert sha256_of(tmp_path / "folder") == hashlib.sha256(b"12").hexdigest()


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="nothing: there is no such file; check the path"):
        sha256_of(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot be read"):
        sha256_of(tmp_path / ("x" * 300))
    with pytest.raises(InputError, match=r"^the labels: cannot be read"):
        sha256_of(tmp_path / ("x" * 300), shown="the labels")
