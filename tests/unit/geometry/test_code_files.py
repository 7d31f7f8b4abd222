"""Files of compiled code: whole or ignored, and used only in folders that can be trusted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labelgrove.ontology.geometry.kernels.codefiles import CodeFiles


def test_code_is_read_from_every_folder_and_written_to_the_first_that_can_be_written_to(tmp_path):
    built, own = tmp_path / "built", tmp_path / "own"
    CodeFiles([built]).save("a", b"built")
    files = CodeFiles([own, built])
    assert files.load("a") == b"built"
    files.save("b", b"own")
    assert (own / "b").exists()
    assert [CodeFiles([built]).load("b"), CodeFiles([own]).load("b")] == [None, b"own"]


def test_code_that_cannot_be_kept_is_not_an_error(tmp_path):
    taken = tmp_path / "taken"
    taken.write_bytes(b"a file")
    files = CodeFiles([taken / "folder"])
    files.save("a", b"code")
    assert (files.load("a"), files.not_kept) == (None, ["a"])
    assert files.writable() is None
    with files.one_at_a_time():
        pass


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 40])
def test_a_file_without_its_digest_is_ignored(tmp_path, content):
    files = CodeFiles([tmp_path])
    (tmp_path / "a").write_bytes(content)
    assert files.load("a") is None


def test_every_changed_bit_is_noticed(tmp_path):
    files = CodeFiles([tmp_path])
    files.save("a", b"code")
    whole = (tmp_path / "a").read_bytes()
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "a").write_bytes(changed)
        assert files.load("a") is None


def test_a_folder_that_everybody_can_write_to_is_not_used(tmp_path):
    files = CodeFiles([tmp_path])
    files.save("a", b"code")
    tmp_path.chmod(0o777)
    files.save("b", b"code")
    assert [files.load("a"), files.writable(), files.not_kept] == [None, None, ["b"]]
    tmp_path.chmod(0o775)
    assert files.load("a") == b"code"


def test_the_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    files = CodeFiles([tmp_path])
    files.save("a", b"code")
    other = os.geteuid() + 12345
    if os.geteuid() == 0:  # what belongs to root is trusted by everybody
        os.chown(tmp_path, other, other)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: other)
    files.save("b", b"code")
    assert [files.load("a"), files.writable(), files.not_kept] == [None, None, ["b"]]


def test_a_relative_folder_is_not_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CodeFiles([tmp_path / "cache"]).save("a", b"code")
    files = CodeFiles([Path("cache")])
    files.save("b", b"code")
    assert [files.load("a"), files.writable(), files.not_kept] == [None, None, ["b"]]


def test_one_process_waits_until_the_other_has_compiled(tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from labelgrove.ontology.geometry.kernels.codefiles import CodeFiles\n"
        "files = CodeFiles([Path(sys.argv[1])])\n"
        "print('started', flush=True)\n"
        "with files.one_at_a_time(): print(files.load('a'), flush=True)\n"
    )
    files = CodeFiles([tmp_path])
    with files.one_at_a_time():
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "started\n"
        files.save("a", b"code")
    assert other.communicate()[0] == "b'code'\n"
