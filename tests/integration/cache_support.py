"""A store that counts how often it is read, and a process that pulls one artifact through the caches.

``python -m tests.integration.cache_support FOLDER HOME DIGEST TOGETHER CACHE_URL`` pulls together with
TOGETHER - 1 other processes, and prints the sha256 of the bytes. An empty CACHE_URL means no cache.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
from pathlib import Path, PurePosixPath

from labelgrove.adapter.loading.cache import through_cache
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import LocalStore
from tests.services import wait_until


class CountedStore(LocalStore):
    """A folder that acts as a remote store, and logs a line for every read of an artifact.

    A read waits until `together` processes have arrived, so that all of them read at the same time.
    """

    def __init__(self, root: Path, *, together: int = 0) -> None:
        super().__init__(root)
        self.together = together

    def local_path(self, digest: str) -> Path | None:
        return None

    def arrive(self) -> None:
        (self.root / f"arrived-{os.getpid()}").touch()

    def readings(self) -> list[str]:
        log = self.root / "readings"
        return log.read_text().split() if log.exists() else []

    def _read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        wait_until(
            lambda: len(list(self.root.glob("arrived-*"))) >= self.together,
            deadline_s=60,
            what=f"{self.together} processes",
        )
        with open(self.root / "readings", "a") as log:
            log.write(f"{path.name}\n")
        return super()._read(path)


def settings_at(home: Path, cache_url: str | None = None) -> Settings:
    env = {"GROVE_HOME": str(home)}
    return Settings.from_env(env | ({"GROVE_CACHE_URL": cache_url} if cache_url else {}))


def main(folder: str, home: str, digest: str, together: str, cache_url: str) -> None:
    store = CountedStore(Path(folder), together=int(together))
    cached = through_cache(store, settings_at(Path(home), cache_url))
    store.arrive()
    print(hashlib.sha256(cached.read_bytes(digest)).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
