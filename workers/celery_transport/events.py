"""Send events about a worker to observers such as Flower; events never delay work, and may be lost."""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher

__all__ = ["EventsWithoutRetry", "Gathering"]

_EVENTS_S = 1.0
"""Seconds for which events of tasks are collected."""


class Dispatcher(EventDispatcher):  # type: ignore[misc]
    """Sends each event once; if the broker is unreachable, the dispatcher keeps the event and sends it later.

    By default, Celery retries its heartbeat in the event loop of the main process until the broker is back.
    Until then nothing else happens there: no signal ends the worker, and no child can deliver its outcome.
    """

    def _publish(self, event: Any, producer: Any, routing_key: str, **options: Any) -> None:
        super()._publish(event, producer, routing_key, **(options | {"retry": False}))


class EventsWithoutRetry(Events):  # type: ignore[misc]
    """Makes a Celery application send events by `Dispatcher`; its option ``events`` names this class."""

    dispatcher_cls = "labelgrove.workers.celery_transport.events:Dispatcher"


class Gathering(bootsteps.StartStopStep):  # type: ignore[misc]
    """Sends the task events of the main process once a second, not each event separately.

    Sending them separately takes a third of the processor time of the main process.
    """

    requires = ("celery.worker.consumer.events:Events",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        self._timer: Any = None
        super().__init__(consumer, **options)

    def start(self, consumer: Any) -> None:
        """Begin to send the collected events every second; Celery by default sends each event at once."""
        events = consumer.event_dispatcher
        events.on_send_buffered = None
        self._timer = consumer.timer.call_repeatedly(_EVENTS_S, events.flush)

    def stop(self, consumer: Any) -> None:
        """Cancel the timer; after a reconnect, `start` sets a new timer for the new dispatcher."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def shutdown(self, consumer: Any) -> None:
        """Send the remaining events."""
        self.stop(consumer)
        if consumer.event_dispatcher is not None:
            consumer.event_dispatcher.flush()
