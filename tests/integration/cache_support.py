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
from labelgrove.ontology.store.artifacts import ArtifactStore
from labelgrove.ontology.store.localfolder import LocalFolder
from tests.services import wait_until


class CountedFolder(LocalFolder):
    """A folder that acts as a remote store, and logs a line for every read of an artifact.

    A read waits until `together` processes have arrived, so that all of them read at the same time.
    """

    def __init__(self, root: Path, *, together: int = 0) -> None:
        super().__init__(root)
        self.root = root
        self.folder = None
        self.together = together

    def arrive(self) -> None:
        (self.root / f"arrived-{os.getpid()}").touch()

    def readings(self) -> list[str]:
        log = self.root / "readings"
        return log.read_text().split() if log.exists() else []

    def read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        wait_until(
            lambda: len(list(self.root.glob("arrived-*"))) >= self.together,
            deadline_s=60,
            what=f"{self.together} processes",
        )
        with open(self.root / "readings", "a") as log:
            log.write(f"{path.name}\n")
        return super().read(path)


def settings_at(home: Path, cache_url: str | None = None) -> Settings:
    env = {"GROVE_HOME": str(home)}
    return Settings.from_env(env | ({"GROVE_CACHE_URL": cache_url} if cache_url else {}))


def main(folder: str, home: str, digest: str, together: str, cache_url: str) -> None:
    counted = CountedFolder(Path(folder), together=int(together))
    cached = through_cache(ArtifactStore(counted), settings_at(Path(home), cache_url))
    counted.arrive()
    print(hashlib.sha256(cached.read_bytes(digest)).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
