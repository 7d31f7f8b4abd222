"""Serve scripts and styles at addresses that name their content, so that browsers keep them for good."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from labelgrove.service.caching import ASK, FOREVER

__all__ = ["ASSETS", "Assets"]

_FOLDER = Path(__file__).with_name("static")


def _tag() -> str:
    """Return a text that differs whenever one of the files differs."""
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.iterdir()):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


_TAG = _tag()

ASSETS = f"/static/{_TAG}"
"""Address of the folder of scripts and styles; modules import each other relative to it."""


class Assets(StaticFiles):
    """The files below ``/static/TAG``.

    With the tag of these files, an answer never changes. With any other, which a page of another release may
    still name, the same file is answered, and asked for again the next time.
    """

    def __init__(self) -> None:
        super().__init__(directory=_FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file of a path."""
        tag, _, name = path.partition("/")
        response = await super().get_response(name, scope)
        response.headers["Cache-Control"] = FOREVER if tag == _TAG else ASK
        return response
