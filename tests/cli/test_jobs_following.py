"""What somebody who waits for a job is told when nobody takes it, and when they go away."""

from __future__ import annotations

import os
import signal
import threading

from click.testing import CliRunner

from labelgrove.cli import following, grove
from ontology import LabelGraph
from ontology.errors import TransientError
from ontology.settings import Settings
from ontology.workspace import Workspace
from tests.integration.workers_support import add_version, registered, settings_in
from workers import client
from workers.kinds import JobKind, Step

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])


def test_a_job_that_no_worker_takes_is_told_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(following, "_PATIENCE_S", 0.0)
    with Workspace.open(settings_in(tmp_path)) as workspace:
        add_version(workspace, "trees", TREE)
        job = client.submit(workspace, "cover", {"ontology": "trees"}, wait=False)
    looks = []

    def progress(step: str, done: int, total: int) -> None:
        looks.append((step, done, total))
        if len(looks) == 3:
            client.cancel(workspace, job.id)

    with Workspace.open(settings_in(tmp_path, broker_url="redis://127.0.0.1:1/0")) as workspace:
        following.follow(workspace, job, progress)
    said = capsys.readouterr().err
    assert said.count("no worker has taken job") == 1
    assert "start one: grove worker" in said


def test_who_goes_away_is_told_that_the_job_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gone = threading.Event()

    def interrupted(work):
        os.kill(os.getpid(), signal.SIGINT)
        gone.wait(0.2)  # the main thread hears of it at once, and waits for this one
        raise TransientError("somebody pulled the plug")

    # What a shell starts in the background is deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with registered(JobKind("interrupted", 1, dict, lambda parameters: [Step(parameters)], interrupted)):
            outcome = CliRunner().invoke(grove, ["jobs", "submit", "interrupted"])
    finally:
        signal.signal(signal.SIGINT, before)
    with Workspace.open(Settings.from_env()) as workspace:
        (job,) = client.list_jobs(workspace)
    assert outcome.exit_code == 1
    assert f"job {job.id[:12]} stays; go on with: grove jobs watch {job.id[:12]}" in outcome.stderr
    assert not job.finished
