"""A bundle is found by file, digest or name, and never by accident."""

from pathlib import Path

import pytest

from labelgrove.adapter import Adapter, open_bundle
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.errors import ArtifactError, BundleError, InputError, NotFoundError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store

BUNDLE = build_bundle(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]), ["oak", "elm"])


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "artifacts"))
    store.put_arrays(*BUNDLE.to_arrays())
    store.write_index(
        "plants", {"name": "plants", "bundles": {"digits": {"sha256": BUNDLE.digest, "version": "0" * 64}}}
    )
    return store


def test_every_form_of_address_leads_to_the_bundle(store, tmp_path, monkeypatch):
    path = tmp_path / "space and ü.safetensors"
    BUNDLE.save(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for uri in (path, str(path), path.as_uri(), f"./{path.name}", f"~/{path.name}", path.name):
        assert open_bundle(uri).digest == BUNDLE.digest, uri
    for uri in (BUNDLE.digest, "plants/digits"):
        assert open_bundle(uri, artifacts_url=store.where).digest == BUNDLE.digest


def test_the_store_comes_from_the_settings(store, monkeypatch):
    monkeypatch.setenv("GROVE_ARTIFACTS_URL", store.where)
    assert Adapter.load("plants/digits").digest == BUNDLE.digest


def test_a_remote_store_serves_too():
    store = open_store("memory://bundles")
    digest = store.put_arrays(*BUNDLE.to_arrays())
    assert open_bundle(digest, artifacts_url="memory://bundles").digest == digest


def test_a_name_means_the_index_even_where_such_a_file_lies(store, tmp_path, monkeypatch):
    other = build_bundle(LabelGraph.complete(3), ["0"])
    monkeypatch.chdir(tmp_path)
    Path("plants").mkdir()
    other.save("plants/digits")
    assert open_bundle("plants/digits", artifacts_url=store.where).digest == BUNDLE.digest
    assert open_bundle("./plants/digits").digest == other.digest


@pytest.mark.parametrize(
    "uri", ["plants", "", "Plants/digits", "a/b/c", "plants/../digits", "abc123", "file://host/x", 7]
)
def test_what_has_no_form_is_refused(uri, store):
    with pytest.raises(InputError, match="bundle"):
        open_bundle(uri, artifacts_url=store.where)


def test_what_is_not_there_names_what_is(store, tmp_path):
    with pytest.raises(NotFoundError, match=r"no ontology 'plant'.*'plants'"):
        open_bundle("plant/digits", artifacts_url=store.where)
    with pytest.raises(NotFoundError, match=r"no bundle 'digit'.*'digits'"):
        open_bundle("plants/digit", artifacts_url=store.where)
    with pytest.raises(NotFoundError, match="none yet"):
        open_bundle("plants/digits", artifacts_url=str(tmp_path / "empty"))
    with pytest.raises(NotFoundError):
        open_bundle("0" * 64, artifacts_url=store.where)
    with pytest.raises(NotFoundError):
        open_bundle(tmp_path / "absent.safetensors")
    with pytest.raises(NotFoundError):
        open_bundle("~nobody-of-that-name/plants.safetensors")


def test_damaged_bytes_are_found_out(store):
    path = store.local_path(BUNDLE.digest)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArtifactError, match="sha256"):
        open_bundle("plants/digits", artifacts_url=store.where)


@pytest.mark.parametrize(
    "document", [{}, {"bundles": []}, {"bundles": {"digits": {}}}, {"bundles": {"digits": "x"}}]
)
def test_a_malformed_index_is_an_artifact_error(store, document):
    store.write_index("plants", document)
    with pytest.raises(ArtifactError, match=r"plants\.json"):
        open_bundle("plants/digits", artifacts_url=store.where)


def test_an_artifact_that_is_no_bundle_is_refused(store):
    graph = LabelGraph.grid((2, 2))
    digest = store.put_arrays(*graph.to_arrays())
    with pytest.raises(BundleError, match="not a bundle"):
        open_bundle(digest, artifacts_url=store.where)
