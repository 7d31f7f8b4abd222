"""Files that commands write: as a whole, or not at all, and never in the place of a device."""

import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from labelgrove.cli.printing.outfile import write_file
from labelgrove.ontology.errors import InputError
from labelgrove.training import train_files


class _Full:
    """A disk that takes 4096 bytes of a file."""

    def __enter__(self):
        self._handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, self._limits[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
        signal.signal(signal.SIGXFSZ, self._handler)


@pytest.mark.parametrize("before", [None, b"an earlier report"])
def test_a_report_that_finds_no_room_leaves_what_was_there(before, tmp_path):
    path = tmp_path / "report.html"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(InputError, match="cannot be written"), _Full():
        write_file(path, b"x" * 100_000, "the report")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if before is None else [before])


def test_probabilities_that_find_no_room_leave_nothing_behind(tmp_path):
    rows = np.random.default_rng(0).random((3000, 2))
    with pytest.raises(InputError, match="cannot be written"), _Full():
        train_files(rows[:20], ["x", "y"] * 10, rows, tmp_path, model="5-nn")
    assert not list(tmp_path.iterdir())


def test_a_link_still_leads_to_the_file(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", b"new", "it")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_takes_the_bytes_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    code = f"import sys; sys.stdout.write(open({str(path)!r}).read())"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as reader:
        write_file(path, b"the report", "it")
        assert reader.communicate(timeout=20)[0] == b"the report"
    assert path.is_fifo()
