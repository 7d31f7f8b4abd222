"""Addresses of bundles in a real Redis and in S3."""

import fsspec
import pytest

from labelgrove.adapter import Adapter, open_bundle
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.loading import cachefaults
from labelgrove.adapter.loading.rediscache import RedisCache, redis_cache
from labelgrove.ontology.errors import ArtifactError, NotFoundError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import write_safetensors

BUNDLE = build_bundle(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]), ["oak", "elm"])
DATA = write_safetensors(*BUNDLE.to_arrays())


@pytest.fixture(autouse=True)
def _as_on_a_new_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "home"))
    cachefaults._warned.clear()
    redis_cache.cache_clear()


@pytest.mark.services
def test_a_redis_url_names_the_cache_entry_of_a_digest(redis_url, tmp_path):
    import redis

    address = redis_url if redis_url.rpartition("/")[2].isdigit() else f"{redis_url.rstrip('/')}/0"
    entry = f"{address}/{BUNDLE.digest}"
    with pytest.raises(NotFoundError, match=rf"no entry grove:zstd:{BUNDLE.digest}; .*artifact store"):
        open_bundle(entry)
    with redis.Redis.from_url(address) as client:
        client.set(f"grove:zstd:{BUNDLE.digest}", b"\x05\0\0\0\0\0\0\0nonsense")
        with pytest.raises(ArtifactError, match="do not match the digest; delete the entry"):
            open_bundle(entry)
        RedisCache(address).put(BUNDLE.digest, DATA)
        adapter = Adapter.load(entry)
        assert (adapter.digest, adapter.refresh()) == (BUNDLE.digest, False)
        assert adapter.predict([[0.5, 0.5]]) == ["tree"]
        client.flushdb()
    assert open_bundle(entry).digest == BUNDLE.digest  # a copy is kept here
    assert open_bundle(entry, offline=True).digest == BUNDLE.digest


def test_an_s3_url_names_one_file(s3_url):
    with fsspec.open(f"{s3_url}/models/plants.safetensors", "wb") as file:
        file.write(DATA)
    for url in ("plants.safetensors", f"plants.safetensors#sha256={BUNDLE.digest}"):
        assert Adapter.load(f"{s3_url}/models/{url}").digest == BUNDLE.digest
    with pytest.raises(
        NotFoundError, match=r"absent\.safetensors: there is no such file; check the bucket and the path"
    ):
        open_bundle(f"{s3_url}/models/absent.safetensors")
    with pytest.raises(ArtifactError, match=f"expected {'0' * 64}"):
        open_bundle(f"{s3_url}/models/plants.safetensors#sha256={'0' * 64}")
    bare = f"{s3_url}/plants-without-folder.safetensors"
    with fsspec.open(bare, "wb") as file:
        file.write(DATA)
    assert open_bundle(bare).digest == BUNDLE.digest
