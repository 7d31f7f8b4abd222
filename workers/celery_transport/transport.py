"""Check messages as they arrive: foreign messages are logged and dropped, and never end a worker.

Celery and its Redis transport trust the contents of a queue. An entry that is not JSON, or JSON of another
layout, ends the worker that takes it, and is often put back for the next worker. Thus anybody who can write
to the broker could stop every worker. Here the envelope of a message is checked before the message is
delivered (`Transport`). Only the id of the message and the key of the unit are then used (`strategy`); time
limits, due times or anything else that a sender adds is ignored.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default
from kombu.transport import redis

__all__ = ["KEY", "TASK", "Transport", "strategy"]

TASK = "labelgrove.run_unit"
"""The name of the task in every message; Celery's own tasks are registered too, but nobody may call them."""

KEY = re.compile(r"[0-9a-f]{64}")
"""The content of a message: the key of a unit."""

logger = logging.getLogger(__name__)

_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors of Celery's own code for a message of another layout; none of them is a connection fault."""

_EVENTS = "celeryev"  # queues of observers such as Flower; a worker reads none of them
_SHOWN_CHARACTERS = 80
_LONGEST_BODY = 4096
"""Largest number of characters in the body of a message; a body with one key has 150."""


class _QoS(redis.QoS):
    """The messages that a channel has taken but not acknowledged; entries that it cannot read are dropped."""

    def restore_by_tag(self, tag: Any, client: Any = None, leftmost: bool = False) -> None:
        try:
            super().restore_by_tag(tag, client, leftmost)
        except _MALFORMED as error:
            logger.warning(
                "an unreadable entry among the unacknowledged messages is dropped: %s", _excerpt(error)
            )
            self._remove_from_indices(tag).execute()


class Channel(redis.Channel):
    """A channel that keeps one Redis client, and drops unreadable entries instead of ending the worker."""

    QoS = _QoS
    _kept: tuple[Any, Any] | None = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        """Return the client that all commands of a connection pool share.

        Creating a client takes longer than a command.
        """
        if asynchronous:  # such a client holds a connection
            return super()._create_client(asynchronous)
        if self._kept is None or self._kept[0] is not self.pool:
            self._kept = self.pool, super()._create_client()
        return self._kept[1]

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except _MALFORMED as error:
            logger.warning("an entry of a queue is not a message and is dropped: %s", _excerpt(error))
            return True


class Transport(redis.Transport):
    """Celery's Redis transport; a worker gets only messages for `TASK` in the layout that Celery writes."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str) -> None:
        if queue.startswith(_EVENTS) or _is_envelope(message):
            super()._deliver(message, queue)
        else:
            logger.warning(
                "an entry of queue %s is not a message and is dropped: %s", queue, _excerpt(message)
            )


def strategy(task: Any, app: Any, consumer: Any, **options: Any) -> Callable[..., Any]:
    """Return the function that handles messages of `task`.

    The returned function calls Celery's own handler, but passes on only the id of the message and the key of
    the unit.
    """
    handle = default(task, app, consumer, **options)

    def careful(message: Any, body: Any, *rest: Any, **given: Any) -> Any:
        if body is not None or not _carries_a_key(message.payload):
            raise InvalidTaskError(f"{task.name}: dropped; a message must carry one key and nothing else")
        name = str(message.headers.get("id"))[:_SHOWN_CHARACTERS]
        message.headers = {"lang": "py", "task": task.name, "id": name, "root_id": name, "parent_id": None}
        message.headers |= {"ignore_result": True, "timelimit": [None, None], "eta": None, "expires": None}
        try:
            return handle(message, body, *rest, **given)
        except _MALFORMED as error:
            raise InvalidTaskError(f"{task.name}: {_excerpt(error)}") from error

    return careful


def _is_envelope(message: Any) -> bool:
    """Return whether a message is for `TASK` and its parts have the types that Celery and kombu rely on."""
    if not isinstance(message, dict):
        return False
    headers, properties = message.get("headers"), message.get("properties")
    return (
        isinstance(headers, dict)
        and headers.get("task") == TASK
        and "compression" not in headers  # kombu would unpack it before any check, however large
        and isinstance(message.get("body"), str)
        and len(message["body"]) <= _LONGEST_BODY
        and isinstance(message.get("content-type"), str)
        and isinstance(message.get("content-encoding"), str)
        and isinstance(properties, dict)
        and properties.get("body_encoding") == "base64"
        and isinstance(properties.get("delivery_tag"), str)
        and isinstance(properties.get("delivery_info"), dict)
    )


def _carries_a_key(payload: Any) -> bool:
    if not (isinstance(payload, list) and len(payload) == 3):
        return False
    arguments, named, _ = payload
    one = isinstance(arguments, list) and len(arguments) == 1 and isinstance(arguments[0], str)
    return one and KEY.fullmatch(arguments[0]) is not None and named == {}


def _excerpt(what: object) -> str:
    return f"{what!r:.{_SHOWN_CHARACTERS}}"
