"""Which entries of a queue are delivered: each rule of an envelope by itself."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from workers.transport import TASK, _is_envelope

BODY = json.dumps([["f" * 64], {}, {}])


def envelope(**changes: Any) -> dict[str, Any]:
    """Return a sound envelope, with some parts changed; ``headers__task`` is a part of a part."""
    sound: dict[str, Any] = {
        "body": base64.b64encode(BODY.encode()).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": TASK, "id": "1"},
        "properties": {"body_encoding": "base64", "delivery_tag": "1", "delivery_info": {"exchange": ""}},
    }
    for name, value in changes.items():
        part, _, inner = name.replace("content_", "content-").partition("__")
        if inner:
            sound[part][inner] = value
        else:
            sound[part] = value
    return sound


def test_a_sound_envelope_is_one() -> None:
    assert _is_envelope(envelope())


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": ["task"]},
        {"headers__task": "celery.accumulate"},
        {"headers__compression": "application/x-bz2"},
        {"body": ["f" * 64]},
        {"body": "f" * 5000},
        {"content_type": None},
        {"content_encoding": 5},
        {"properties": "base64"},
        {"properties__body_encoding": "rot13"},
        {"properties__delivery_tag": 5},
        {"properties__delivery_info": None},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_what_breaks_one_rule_is_none(changes: dict[str, Any]) -> None:
    assert not _is_envelope(envelope(**changes))


@pytest.mark.parametrize("entry", [None, 5, [], "x", {}])
def test_what_is_no_object_of_parts_is_none(entry: Any) -> None:
    assert not _is_envelope(entry)
