"""Deployments that Celery workers refuse to start in, each with its remedy."""

from __future__ import annotations

import dataclasses
import ssl
from pathlib import Path

import pytest

from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.workers.app import make_app
from labelgrove.workers.celery_transport.broker_check import check_deployment
from labelgrove.workers.worker import run_worker
from tests.integration.workers_support import settings_in

NOBODY = "redis://:hunter2@127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"broker_url": None}, "GROVE_BROKER_URL is not set.*grove worker"),
        ({"graph_url": "embedded:/tmp/graph"}, "embedded graph serves only one process.*set GROVE_GRAPH_URL"),
        ({"broker_url": "redis://:hunter2@queue.example:6379/0"}, "GROVE_DATABASE_URL.*one host.*PostgreSQL"),
        ({"broker_url": "redis://:hunter2@10.0.0.1/0"}, "GROVE_DATABASE_URL.*one host.*PostgreSQL"),
    ],
)
def test_unfit_settings_are_refused(tmp_path: Path, change, message):
    settings = dataclasses.replace(settings_in(tmp_path, broker_url=NOBODY), **change)
    with pytest.raises(SettingsError, match=message) as refusal:
        check_deployment(settings)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        NOBODY,
        "redis://localhost:1/0",
        "redis://[::1]:1/0",
        "unix:///nowhere.sock",
        "redis+socket:///nowhere.sock",
    ],
)
def test_a_broker_of_this_host_may_be_used_with_sqlite_but_must_answer(tmp_path: Path, url):
    with pytest.raises(ServiceError, match=r"check that Redis runs") as refusal:
        run_worker(settings_in(tmp_path, broker_url=url))
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("url", ["unix:///nowhere.sock?db=1", "redis+socket:///nowhere.sock?virtual_host=1"])
def test_celery_knows_every_spelling_of_a_socket_file(tmp_path: Path, url):
    with make_app(settings_in(tmp_path, broker_url=url)) as app, app.connection_for_write() as connection:
        assert connection.transport.driver_type == "redis"


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        ("rediss://:hunter2@broker:6379/0", ssl.CERT_REQUIRED),
        ("rediss://:hunter2@broker:6379/0?ssl_ca_certs=/etc/ours.pem", ssl.CERT_REQUIRED),
        ("rediss://:hunter2@broker:6379/0?ssl_cert_reqs=none", ssl.CERT_NONE),
    ],
)
def test_celery_checks_the_certificate_of_a_broker(tmp_path: Path, url, checked):
    with make_app(settings_in(tmp_path, broker_url=url)) as app, app.connection_for_write() as connection:
        assert connection.ssl["ssl_cert_reqs"] == checked
        assert connection.password == "hunter2"
        assert connection.virtual_host == "0"


def test_a_broker_url_that_is_none_names_the_variable(tmp_path: Path):
    with pytest.raises(SettingsError, match="GROVE_BROKER_URL") as refusal:
        check_deployment(settings_in(tmp_path, broker_url="redis://:hunter2@127.0.0.1:port/0"))
    assert "hunter2" not in str(refusal.value)
