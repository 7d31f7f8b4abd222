"""The artifact store: files named by the sha256 of their content, and the static index next to them.

::

    <root>/sha256/ab/ab12...  content, 64 hexadecimal digits
    <root>/index/<name>.json  the current version and bundles of an ontology, replaced as a whole

A file appears under its name only when it is complete and on disk: it is written under a temporary name,
fsynced and renamed, and the folder is fsynced. The sha256 is checked on every read. A local store is a folder
(`ontology.store.localfolder`). Any other URL is accessed through fsspec (`ontology.store.remotefolder`), and
needs a service whose PUT of one object is atomic, such as ``s3://`` and ``gs://``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from numpy.typing import NDArray

from labelgrove.ontology.errors import ArtifactError, GroveError, InputError, NotFoundError, ServiceError
from labelgrove.ontology.settings import masked
from labelgrove.ontology.store.disk_faults import disk_advice
from labelgrove.ontology.store.localfolder import LocalFolder
from labelgrove.ontology.store.remotefolder import RemoteFolder
from labelgrove.ontology.store.safetensors_file import read_safetensors, safetensors_chunks, write_safetensors
from labelgrove.ontology.store.storage import Storage

__all__ = [
    "ArtifactStore",
    "Copies",
    "check_digest",
    "check_name",
    "open_store",
    "read_safetensors",
    "write_safetensors",
]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def open_store(url: str) -> ArtifactStore:
    """Open the store at `url`: a folder, ``file://`` or any URL that fsspec knows.

    Nothing is created before the first write.

    Raises
    ------
    MissingExtraError
        If the URL needs fsspec or a driver that is not installed.

    Examples
    --------
    >>> store = open_store("memory://example")
    >>> digest = store.put_bytes(b"oak")
    >>> store.read_bytes(digest)
    b'oak'
    """
    return ArtifactStore(_storage_at(url))


def _storage_at(url: str) -> Storage:
    scheme, separator, _ = url.partition("://")
    if "\0" in unquote(url):
        raise InputError(
            f"artifact store {masked(url)!r}: contains a NUL character, which no path may contain"
        )
    if not separator:
        return LocalFolder(Path(os.path.expanduser(url)).absolute())
    if scheme == "file":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost"):
            raise InputError(
                f"artifact store {url!r}: a file URL has three slashes, as in file:///var/lib/grove"
            )
        return LocalFolder(Path(unquote(parts.path)))
    return RemoteFolder(url)


def check_name(name: str, what: str = "ontology") -> str:
    """Return `name` if it is a valid name of an ontology or bundle; otherwise raise `InputError`.

    >>> check_name("wordnet-3.0")
    'wordnet-3.0'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        if isinstance(name, str) and _NAME.fullmatch(name.partition("@")[0]) and "@" in name:
            raise InputError(
                f"{what} name {name!r}: contains a version, but only a name is allowed here; "
                "leave out the @ and what follows"
            )
        raise InputError(
            f"{what} name {name!r}: use 1 to 64 characters of a-z, 0-9, '.', '_' and '-'; "
            "the first must be a letter or digit"
        )
    return name


def check_digest(data: bytes | mmap.mmap, digest: str, shown: str, advice: str) -> None:
    """Raise `ArtifactError` if the sha256 of `data` is not `digest`.

    The message begins with `shown`, the address of the data, and ends with `advice`.
    """
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        raise ArtifactError(
            f"{shown}: its {len(data)} bytes have sha256 {found}, expected {digest}; {advice}"
        )


class Copies(ABC):
    """Copies of artifacts, such as a cache; they are read instead of the originals, which is faster."""

    @abstractmethod
    def local_path(self, digest: str) -> Path:
        """Return the path on this machine where the copy of an artifact is, or would be."""

    @abstractmethod
    def content(self, digest: str, fetch: Callable[[], bytes | mmap.mmap]) -> bytes | mmap.mmap:
        """Return the content of the artifact `digest` from its copy.

        If there is no copy with the right sha256, call `fetch`, which reads the original, and return what it
        returns.
        """

    @abstractmethod
    def keep_index(self, name: str, document: Mapping[str, Any] | None) -> None:
        """Keep a copy of `document`, which was just read as the index document of `name`.

        `document` is None if the store has no index document of `name`; then drop the copy that was kept.
        """


class ArtifactStore:
    """A store of two kinds of files: content-addressed files, and the small named files of the static index.

    A digest is 64 lower-case hexadecimal digits. An index name has 1 to 64 characters of ``a-z 0-9 . _ -``
    and begins with a letter or digit. Anything else raises `InputError`, so that no name leads out of the
    store. A method that needs the file of a digest or name raises `NotFoundError` if the file is absent. A
    store that cannot be reached or written raises `ServiceError`.

    Parameters
    ----------
    storage : Storage
        The folder or the object storage that contains the files.
    copies : Copies, optional
        Copies from which artifacts are read if possible. Every other operation uses `storage`.
    """

    def __init__(self, storage: Storage, copies: Copies | None = None) -> None:
        self.storage = storage
        self._copies = copies

    @property
    def where(self) -> str:
        """The folder or URL, without passwords."""
        return self.storage.where

    @property
    def folder(self) -> Path | None:
        """The folder of the store on this machine; None for a remote store."""
        return self.storage.folder

    # ---- content -----------------------------------------------------------------------------------

    def put_bytes(self, data: bytes) -> str:
        """Write `data` to the store and return its sha256.

        If the artifact exists already, it is written again. This updates the modification time of the file,
        and repairs the file if it is damaged.
        """
        return self._write([memoryview(data)])

    def put_arrays(self, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> str:
        """Write arrays and metadata as a canonical safetensors file, and return its sha256."""
        return self._write(safetensors_chunks(arrays, metadata))

    def read_bytes(self, digest: str) -> bytes:
        """Return the content of the artifact `digest`; a damaged file raises `ArtifactError`."""
        return bytes(self.content(digest))

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the same content as `read_bytes`; if the store is local, return it as a memory map."""
        path = _content_path(digest)
        stored = partial(self._stored, path)
        return stored() if self._copies is None else self._copies.content(digest, stored)

    def open_arrays(self, digest: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the arrays and metadata of a safetensors file, after checking its sha256.

        The arrays are read-only. From a local store they are views of a memory map, which stays valid when
        the file is deleted. The bytes are read once and not copied.
        """
        return read_safetensors(self.content(digest), name=self._location(digest))

    def read_file(self, name: str) -> bytes:
        """Return the content of a file that is not an artifact; `name` is its path relative to the store."""
        with self._faults(f"{self.where}/{name}"):
            return bytes(self.storage.read(PurePosixPath(name)))

    def exists(self, digest: str) -> bool:
        """Return whether the artifact's file exists; its content is not read."""
        try:
            self.size(digest)
        except NotFoundError:
            return False
        return True

    def is_whole(self, digest: str) -> bool:
        """Read the artifact's file; return whether it exists and its content has the sha256 `digest`."""
        try:
            self.content(digest)
        except (ArtifactError, NotFoundError):
            return False
        return True

    def size(self, digest: str) -> int:
        """Return the size of the artifact's file in bytes."""
        with self._faults(self._location(digest)):
            return self.storage.size(_content_path(digest))

    def touch(self, digest: str) -> None:
        """Update the time of the artifact's file, so that garbage collection treats it as new."""
        with self._faults(self._location(digest)):
            self.storage.touch(_content_path(digest))

    def delete(self, digest: str) -> None:
        """Remove the artifact's file; an absent file is not an error."""
        with self._faults(self._location(digest)), contextlib.suppress(FileNotFoundError):
            self.storage.delete(_content_path(digest))

    def modified(self, digest: str) -> float:
        """Return when the artifact's file was last written or touched.

        The time is in seconds since 1970 by the store's clock.
        """
        with self._faults(self._location(digest)):
            return self.storage.modified(_content_path(digest))

    def delete_unless_modified(self, digest: str, since: float) -> bool:
        """Remove the artifact's file if it was last written or touched before `since`.

        Return whether it was removed.
        """
        with self._faults(self._location(digest)), contextlib.suppress(FileNotFoundError):
            return self.storage.delete_unless_modified(_content_path(digest), since)
        return False

    def digests(self) -> Iterator[str]:
        """Yield the digests of all artifacts, in no particular order; folders are listed one at a time."""
        with self._faults(f"{self.where}/sha256"):
            yield from (name for name in self.storage.list("sha256") if _DIGEST.fullmatch(name))

    def temporaries(self) -> Iterator[tuple[Path, float]]:
        """Yield the path of each temporary file and the time of its last write.

        The process that writes the file may still be at work, or it may have been killed.
        """
        with self._faults(self.where):
            yield from self.storage.temporaries()

    def local_path(self, digest: str) -> Path | None:
        """Return the path on this machine of the artifact or its copy, whether or not a file exists there.

        Return None if artifacts are neither stored nor copied on this machine.
        """
        path = _content_path(digest)
        if self._copies is not None:
            return self._copies.local_path(digest)
        return None if self.folder is None else self.folder / path

    # ---- index -------------------------------------------------------------------------------------

    def write_index(self, name: str, document: Mapping[str, Any]) -> None:
        """Write or replace the index document of `name`; readers see the old or the new one, never a part."""
        path = _index_path(name)
        text = json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        with self._faults(f"{self.where}/{path}"):
            self.storage.write(path, [memoryview(text.encode())])

    def read_index(self, name: str) -> dict[str, Any] | None:
        """Return the index document of `name`; None if there is none.

        A file that is not a JSON object raises `ArtifactError`.
        """
        document = self._stored_index(_index_path(name))
        if self._copies is not None:
            self._copies.keep_index(name, document)
        return document

    def delete_index(self, name: str) -> None:
        """Remove the index document of `name`; an absent document is not an error."""
        path = _index_path(name)
        with self._faults(f"{self.where}/{path}"), contextlib.suppress(FileNotFoundError):
            self.storage.delete(path)

    def index_names(self) -> list[str]:
        """Return the names that have an index document, sorted."""
        with self._faults(f"{self.where}/index"):
            names = [
                name.removesuffix(".json") for name in self.storage.list("index") if name.endswith(".json")
            ]
        return sorted(name for name in names if _NAME.fullmatch(name))

    # ---- shared ------------------------------------------------------------------------------------

    def _stored(self, path: PurePosixPath) -> bytes | mmap.mmap:
        shown = f"{self.where}/{path}"
        with self._faults(shown):
            data = self.storage.read(path)
        advice = "the file is damaged: delete it, then ingest or build its content again"
        check_digest(data, path.name, shown, advice)
        return data

    def _stored_index(self, path: PurePosixPath) -> dict[str, Any] | None:
        shown = f"{self.where}/{path}"
        try:
            with self._faults(shown):
                document = json.loads(bytes(self.storage.read(path)))
        except NotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ArtifactError(
                f"{shown}: is not JSON ({error}); the deployment that ingested the ontology writes the file "
                "again when it next opens its graph"
            ) from None
        if not isinstance(document, dict):
            raise ArtifactError(
                f"{shown}: contains a {type(document).__name__}, expected a JSON object; the deployment that "
                "ingested the ontology writes the file again when it next opens its graph"
            )
        return document

    def _write(self, chunks: Sequence[memoryview]) -> str:
        hashed = hashlib.sha256()
        for chunk in chunks:
            hashed.update(chunk)
        digest = hashed.hexdigest()
        with self._faults(self._location(digest)):
            self.storage.write(_content_path(digest), chunks)
        return digest

    def _location(self, digest: str) -> str:
        return f"{self.where}/{_content_path(digest)}"

    @contextlib.contextmanager
    def _faults(self, shown: str) -> Iterator[None]:
        """Translate faults of disk and network into our errors, which tell the user the next step."""
        try:
            yield
        except GroveError:
            raise
        except FileNotFoundError as error:
            raise NotFoundError(
                f"{shown}: no such file in the artifact store; ingest or build its content again"
            ) from error
        except OSError as error:
            other = "check that GROVE_ARTIFACTS_URL can be reached and written"
            advice = disk_advice(error, "the store", "GROVE_ARTIFACTS_URL", otherwise=other)
            raise ServiceError(f"{shown}: {masked(error.strerror or str(error))}; {advice}") from error


def _content_path(digest: str) -> PurePosixPath:
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise InputError(f"digest {digest!r}: give the 64 lower-case hexadecimal digits of an artifact")
    return PurePosixPath("sha256", digest[:2], digest)


def _index_path(name: str) -> PurePosixPath:
    return PurePosixPath("index", f"{check_name(name)}.json")
