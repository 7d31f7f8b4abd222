"""Which entries of a queue are delivered: each rule of an envelope by itself."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest
from celery.exceptions import InvalidTaskError

from labelgrove.workers.celery_transport import transport
from labelgrove.workers.celery_transport.transport import TASK, _is_envelope

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


@pytest.mark.parametrize(
    "payload",
    [[["f" * 64], {}], [["f" * 63], {}, {}], [["f" * 64, 1], {}, {}], [["f" * 64], {"x": 1}, {}]],
    ids=["two parts", "no key", "two arguments", "named argument"],
)
def test_a_message_that_carries_no_key_alone_is_refused(
    payload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled = handler(monkeypatch, lambda message, *_: message.headers["id"])
    sound = SimpleNamespace(payload=[["f" * 64], {}, {}], headers={"id": "1", "eta": "never"})
    assert handled(sound, None) == "1"
    assert sound.headers["eta"] is None
    with pytest.raises(InvalidTaskError, match="one key"):
        handled(SimpleNamespace(payload=payload, headers={"id": "1"}), None)


@pytest.mark.parametrize("raised", [KeyError("x"), TypeError("x"), RecursionError("x"), OverflowError("x")])
def test_a_message_that_celery_does_not_understand_is_refused(
    raised: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise raised

    with pytest.raises(InvalidTaskError, match=TASK):
        handler(monkeypatch, fail)(SimpleNamespace(payload=[["f" * 64], {}, {}], headers={}), None)


def handler(monkeypatch: pytest.MonkeyPatch, celery: Any) -> Any:
    """Return what handles a message, where `celery` stands for what Celery itself does with it."""
    monkeypatch.setattr(transport, "default", lambda *_, **__: celery)
    return transport.strategy(SimpleNamespace(name=TASK), None, None)
