"""A child whose end was seen while the broker was away does not end its node."""

from __future__ import annotations

import os

import pytest
from celery.concurrency.asynpool import AsynPool
from kombu.asynchronous import Hub

from labelgrove.workers.celery_transport.children import ChildPool


class Child:
    """What a pool knows of a child: the descriptor that tells of its end, None once it did."""

    def __init__(self, sentinel: int | None) -> None:
        self._sentinel_poll = sentinel


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.close()


def test_a_child_whose_end_was_seen_is_watched_no_more(hub):
    with pytest.raises(ValueError, match="file descriptor is None"):  # what this is for
        AsynPool._track_child_process(object.__new__(AsynPool), Child(None), hub)
    ChildPool._track_child_process(object.__new__(ChildPool), Child(None), hub)
    assert not hub.readers


def test_a_child_that_runs_is_watched(hub):
    read, write = os.pipe()
    try:
        ChildPool._track_child_process(object.__new__(ChildPool), Child(read), hub)
        assert list(hub.readers) == [read]
        hub.remove(read)
    finally:
        os.close(read)
        os.close(write)
