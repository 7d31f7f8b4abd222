"""Answer documents about a version with headers that let clients keep them as long as they stay true."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["ASK", "FOREVER", "answer", "fresh"]

FOREVER = "private, max-age=31536000, immutable"
"""``Cache-Control`` of an answer that never changes."""

ASK = "private, no-cache"
"""``Cache-Control`` of an answer that clients ask for again, naming the one that they have."""


def answer(request: Request, document: Any, tag: str | None = None) -> Response:
    """Return a document as JSON, or status 304 if the client has it already.

    Parameters
    ----------
    request : Request
        The document is immutable if its query has ``version``, and in ``state`` the `tag`.
    document : object
    tag : str, optional
        Text that differs whenever an answer to an equal request may differ; by default, a digest of the
        document.
    """
    content = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    headers = fresh(request, tag or hashlib.sha256(content).hexdigest()[:32])
    if not {headers["ETag"], "*"}.isdisjoint(_tags(request)):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)


def fresh(request: Request, tag: str) -> dict[str, str]:
    """Return the headers of an answer that is true as long as its version has `tag`."""
    of_url = hashlib.sha256(str(request.url.query).encode()).hexdigest()[:8]
    query = request.query_params
    known = "version" in query and query.get("state") == tag
    return {"ETag": f'"{tag}-{of_url}"', "Cache-Control": FOREVER if known else ASK}


def _tags(request: Request) -> list[str]:
    given = request.headers.get("if-none-match", "").split(",")
    return [tag.strip().removeprefix("W/") for tag in given]
