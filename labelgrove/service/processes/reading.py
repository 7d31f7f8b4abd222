"""Let uploaded hierarchies be read in processes of their own.

A reader needs seconds of Python for a large hierarchy, and gigabytes for the largest; in the process that
answers requests, all others would wait for it. A file that makes a library crash ends only its own process.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

from labelgrove.ontology import errors
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.limits import Limits
from labelgrove.service.problems import Problem, busy, problem_for

__all__ = ["UploadReader"]

_RETRY_S = 10


class UploadReader:
    """Reads uploads, a few at a time; safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
        Takes the hierarchies.
    limits : Limits
        Its `uploads` are read at once, each for at most `upload_s` seconds.
    """

    def __init__(self, workspace: Workspace, limits: Limits) -> None:
        self.workspace, self._limits = workspace, limits
        self._free = threading.BoundedSemaphore(limits.uploads)

    def read(
        self, path: Path, options: dict[str, Any], *, ontology: str | None = None, shrink: bool = False
    ) -> dict[str, Any]:
        """Return the report of a file, and submit the job that ingests it if an ontology is named.

        Parameters
        ----------
        path : Path
            Paths below its folder are told relative to it.
        options : dict
            Keyword arguments of `labelgrove.read`.
        ontology : str, optional
            Submit a job that makes the hierarchy the current version of this ontology, if it is accepted.
        shrink : bool
            As for `labelgrove.workers.client.submit_ingest`.

        Returns
        -------
        dict
            ``report``, as `labelgrove.documents.readings` describes it, and with an ontology ``job`` and
            ``state``.

        Raises
        ------
        Problem
            For what the reader or the workspace refused; if too many files are being read already, if reading
            takes too long, or if the process that reads ends.
        """
        if not self._free.acquire(blocking=False):
            told = f"{self._limits.uploads} uploads are being read already; send yours again in a while"
            raise busy(told, _RETRY_S)
        seen, settings = self.workspace, self.workspace.settings
        request = {
            "settings": asdict(settings) | {"home": str(settings.home)},
            "asked_by": seen.asked_by,
            "only": None if seen.only is None else sorted(seen.only),
            "path": str(path),
            "options": options,
            "ontology": ontology,
        }
        try:
            reply = self._ask(request | {"shrink": shrink}, path.name)
        finally:
            self._free.release()
        if "error" in reply:
            kind = getattr(errors, reply["error"])
            raise problem_for(kind, reply["message"], report=reply.get("report"))
        return reply

    def _ask(self, request: dict[str, Any], name: str) -> dict[str, Any]:
        with subprocess.Popen(
            [sys.executable, "-m", "labelgrove.service.processes.readingchild"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        ) as child:
            too_long = threading.Timer(self._limits.upload_s, child.kill)
            too_long.start()
            try:
                assert child.stdin is not None
                assert child.stdout is not None
                with contextlib.suppress(BrokenPipeError):  # its status tells more
                    child.stdin.write(json.dumps(request).encode() + b"\n")
                answer = child.stdout.read()
                status = child.wait()
            except BaseException:
                child.kill()
                raise
            finally:
                late = not too_long.is_alive()
                too_long.cancel()
        if status == 0:
            reply: dict[str, Any] = json.loads(answer)
            return reply
        if late:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "too-long",
                f"{name}: reading took more than {self._limits.upload_s:g} s and was stopped; "
                "read the file on the machine of the service, with grove ingest",
                exit_code=1,
            )
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "reader-ended",
            f"{name}: the process that read it ended with status {status}, perhaps for want of memory; "
            "read the file with grove ontology validate, and see the log of the service",
            exit_code=1,
        )
