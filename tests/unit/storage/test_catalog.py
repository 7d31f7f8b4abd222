"""The catalog on SQLite and PostgreSQL: leases, fences, versions, bundles."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from labelgrove.ontology.errors import ConflictError, InputError, LeaseLostError, NotFoundError
from labelgrove.ontology.sql.catalog import LEASE_SECONDS, Catalog, Lease, Version
from labelgrove.ontology.sql.database import create_engine, now, reading, upgrade, writing

A, B = "a" * 64, "b" * 64
THERE = f"{socket.gethostname()}-elsewhere:1"


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    url = f"sqlite:///{tmp_path / 'catalog.db'}"
    engine = create_engine(url if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def catalog(engine: Engine) -> Catalog:
    return Catalog(engine)


def open_version(catalog: Catalog, lease: Lease, digest: str, **changes: Any) -> Version:
    values: dict[str, Any] = {
        "digest": digest,
        "snapshot": ("1" * 64, 100),
        "annotations": None,
        "n_labels": 3,
        "n_edges": 2,
        "layout": "hierarchy",
        "source": "trees.tsv",
        "n_batches": 2,
    }
    return catalog.open_version(lease, **values | changes)


def registered(catalog: Catalog, name: str, *digests: str) -> None:
    lease = catalog.acquire(name)
    for digest in digests:
        catalog.commit(lease, open_version(catalog, lease, digest))
    catalog.release(lease)


def held_by(engine: Engine, owner: str, *, seconds: float) -> None:
    with writing(engine) as connection:
        connection.execute(
            text("UPDATE ontology SET lease_owner = :owner, lease_since = :since, lease_until = :until"),
            {"owner": owner, "since": 0.0, "until": connection.scalar(select(now())) + seconds},
        )


# ---- leases --------------------------------------------------------------------------------------------


def test_the_loser_learns_who_holds_the_name_and_since_when(catalog: Catalog) -> None:
    lease = catalog.acquire("trees")
    with pytest.raises(
        ConflictError, match=rf"'trees'.*{socket.gethostname()}:{os.getpid()} .*, which began at 20\d\d-"
    ):
        catalog.acquire("trees")
    assert catalog.acquire("animals").fence == 1
    catalog.release(lease)
    assert catalog.acquire("trees").fence == 2


def test_a_lease_that_ran_out_is_taken_over_and_its_holder_can_write_nothing(
    catalog: Catalog, engine: Engine
) -> None:
    old = catalog.acquire("trees")
    version = open_version(catalog, old, A)
    held_by(engine, old.owner, seconds=-1)
    new = catalog.acquire("trees")
    assert new.fence == old.fence + 1
    writes: list[Callable[[], object]] = [
        lambda: catalog.renew(old),
        lambda: open_version(catalog, old, B),
        lambda: catalog.batch_done(old, version, 0),
        lambda: catalog.restart_batches(old, version, 2),
        lambda: catalog.commit(old, version),
        lambda: catalog.forget_version(old, version),
        lambda: catalog.forget_ontology(old),
    ]
    for write in writes:
        with pytest.raises(LeaseLostError, match=r"took over the lease of .* \(fence 1\)"):
            write()
    catalog.release(old)
    catalog.renew(new)
    assert catalog.current("trees") is None
    assert [v.digest for v in catalog.versions("trees")] == [A]
    assert catalog.pending_batches(version) == [0, 1]


def test_a_live_lease_of_another_host_is_respected(catalog: Catalog, engine: Engine) -> None:
    catalog.acquire("trees")
    held_by(engine, THERE, seconds=LEASE_SECONDS)
    with pytest.raises(ConflictError, match="elsewhere:1, which began at 1970"):
        catalog.acquire("trees")


def test_a_holder_of_this_host_that_died_is_taken_over_at_once(catalog: Catalog, engine: Engine) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    first = catalog.acquire("trees")
    held_by(engine, f"{socket.gethostname()}:{dead.pid}", seconds=LEASE_SECONDS)
    assert catalog.acquire("trees").fence == first.fence + 1


def test_the_fence_passes_what_the_graph_has_seen(catalog: Catalog) -> None:
    assert catalog.acquire("trees", above=41).fence == 42
    assert catalog.acquire("animals", above=0).fence == 1


def test_of_many_at_once_one_gets_the_name(catalog: Catalog) -> None:
    got: list[Lease] = []
    lost: list[ConflictError] = []
    start = threading.Barrier(8)

    def run() -> None:
        start.wait()
        try:
            got.append(catalog.acquire("trees"))
        except ConflictError as error:
            lost.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(lost)) == (1, 7)


@pytest.mark.parametrize("name", ["", "A", "-a", "a b", "a/b", "../a", "é", "x" * 65, "a\n", None])
def test_names_have_a_rule(catalog: Catalog, name: Any) -> None:
    for ask in (catalog.acquire, catalog.version):
        with pytest.raises(InputError, match="1 to 64 characters of a-z"):
            ask(name)


# ---- versions ------------------------------------------------------------------------------------------


def test_a_version_is_loading_until_it_commits(catalog: Catalog) -> None:
    lease = catalog.acquire("trees")
    version = open_version(catalog, lease, A)
    assert (version.state, version.current) == ("loading", False)
    assert catalog.pending_batches(version) == [0, 1]
    with pytest.raises(NotFoundError, match="'trees' is not complete yet; wait for its ingest, or repeat it"):
        catalog.version("trees")
    assert catalog.index_document("trees") is None
    catalog.batch_done(lease, version, 0)
    assert catalog.pending_batches(open_version(catalog, lease, A)) == [1]
    catalog.restart_batches(lease, version, 3)
    assert catalog.pending_batches(version) == [0, 1, 2]
    catalog.commit(lease, version)
    found = catalog.version("trees")
    assert (found.state, found.current, found.digest) == ("ready", True, A)
    assert catalog.pending_batches(found) == []
    assert catalog.names() == ["trees"]


def test_the_same_content_is_the_same_version(catalog: Catalog) -> None:
    registered(catalog, "trees", A)
    lease = catalog.acquire("trees")
    again = open_version(catalog, lease, A, annotations=("2" * 64, 7), source=None)
    assert again.state == "ready"
    assert again.annotations_sha256 == "2" * 64
    assert again.source == "trees.tsv"
    assert open_version(catalog, lease, A, source="other.tsv").annotations_sha256 == "2" * 64
    assert [v.source for v in catalog.versions("trees")] == ["other.tsv"]


def test_versions_stand_side_by_side_and_are_found_by_the_beginning_of_a_digest(catalog: Catalog) -> None:
    registered(catalog, "trees", A, B)
    assert catalog.version("trees").digest == B
    assert catalog.version("trees", "aaaa").digest == A
    assert [v.current for v in catalog.versions("trees")] == [False, True]
    registered(catalog, "trees", "aaaab" + "0" * 59)
    with pytest.raises(InputError, match="matches 2 digests"):
        catalog.version("trees", "aaaa")
    with pytest.raises(NotFoundError, match=r"no version 'cccc', only aaaaaaaaaaaa, bbbb"):
        catalog.version("trees", "cccc")
    with pytest.raises(InputError, match="4 to 64 hexadecimal"):
        catalog.version("trees", "%")


def test_two_names_may_have_the_same_content(catalog: Catalog) -> None:
    registered(catalog, "trees", A)
    registered(catalog, "plants", A)
    assert {v.ontology for v in catalog.versions()} == {"plants", "trees"}


def test_a_version_goes_with_its_bundles_and_the_name_keeps_its_fence(catalog: Catalog) -> None:
    registered(catalog, "trees", A, B)
    catalog.set_bundle("trees", "old", sha256="3" * 64, size=9, version=A)
    catalog.set_bundle("trees", "new", sha256="4" * 64, size=9, version=B)
    lease = catalog.acquire("trees")
    catalog.forget_version(lease, catalog.version("trees", A))
    assert [b.name for b in catalog.bundles("trees")] == ["new"]
    catalog.forget_ontology(lease)
    catalog.release(lease)
    assert (catalog.versions("trees"), catalog.bundles(), catalog.names()) == ([], [], [])
    assert catalog.currents() == {"trees": None}
    assert catalog.acquire("trees").fence == lease.fence + 1


# ---- bundles and index ---------------------------------------------------------------------------------


def test_a_bundle_name_moves_and_the_index_says_so(catalog: Catalog) -> None:
    registered(catalog, "trees", A)
    for sha256 in ("3" * 64, "4" * 64):
        catalog.set_bundle("trees", "forest", sha256=sha256, size=9, version=A)
    registered(catalog, "trees", B)
    assert catalog.index_document("trees") == {
        "format": "labelgrove/index/1",
        "name": "trees",
        "version": B,
        "snapshot": "1" * 64,
        "annotations": None,
        "layout": "hierarchy",
        "n_labels": 3,
        "n_edges": 2,
        "bundles": {"forest": {"sha256": "4" * 64, "version": A}},
    }


def test_a_bundle_needs_a_version_and_a_name(catalog: Catalog) -> None:
    registered(catalog, "trees", A)
    with pytest.raises(NotFoundError):
        catalog.set_bundle("trees", "forest", sha256="3" * 64, size=9, version=B)
    with pytest.raises(NotFoundError):
        catalog.set_bundle("plants", "forest", sha256="3" * 64, size=9, version=A)
    with pytest.raises(InputError, match="bundle name"):
        catalog.set_bundle("trees", "../forest", sha256="3" * 64, size=9, version=A)


def test_recording_an_artifact_again_refreshes_it(catalog: Catalog, engine: Engine) -> None:
    registered(catalog, "trees", A)
    with writing(engine) as connection:
        connection.execute(text("UPDATE artifact SET created_at = 1, touched_at = 1"))
    registered(catalog, "trees", A)
    with reading(engine) as connection:
        row = connection.execute(text("SELECT size, kind, created_at, touched_at FROM artifact")).one()
    assert (row.size, row.kind, row.created_at) == (100, "snapshot", 1)
    assert row.touched_at > 1
