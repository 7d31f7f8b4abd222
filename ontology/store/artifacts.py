"""The artifact store: files named by the sha256 of their content, and the static index next to them.

::

    <root>/sha256/ab/ab12...  content, 64 hexadecimal digits
    <root>/index/<name>.json  the current meaning of an ontology's name, replaced as a whole

A file appears under its name only when it is complete and on disk: it is written under a temporary name,
fsynced and renamed, and the folder is fsynced. Size and sha256 are checked on every read. A local store is a
folder. Any other URL is accessed through fsspec, and needs a service whose PUT of one object is atomic, as on
``s3://`` and ``gs://``.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import mmap
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from numpy.typing import NDArray

from labelgrove.ontology.errors import (
    ArtifactError,
    GroveError,
    InputError,
    MissingExtraError,
    NotFoundError,
    ServiceError,
)
from labelgrove.ontology.settings import masked
from labelgrove.ontology.store.disk_faults import disk_advice
from labelgrove.ontology.store.remote_faults import remote_fault
from labelgrove.ontology.store.safetensors_file import read_safetensors, safetensors_chunks, write_safetensors
from labelgrove.ontology.store.wholefile import TEMPORARY, beside, make_folder, sync_folder, write_whole

__all__ = ["ArtifactStore", "check_name", "open_store", "read_safetensors", "write_safetensors"]

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
    scheme, separator, _ = url.partition("://")
    if "\0" in unquote(url):
        raise InputError(f"artifact store {masked(url)!r}: holds a NUL character, which no path has")
    if not separator:
        return LocalStore(Path(os.path.expanduser(url)).absolute())
    if scheme == "file":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost"):
            raise InputError(
                f"artifact store {url!r}: a file URL has three slashes, as in file:///var/lib/grove"
            )
        return LocalStore(Path(unquote(parts.path)))
    return RemoteStore(url)


def check_name(name: str, what: str = "ontology") -> str:
    """Return `name` if it may name an ontology or a bundle, else raise `InputError` with the rule.

    >>> check_name("wordnet-3.0")
    'wordnet-3.0'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        if isinstance(name, str) and _NAME.fullmatch(name.partition("@")[0]) and "@" in name:
            raise InputError(
                f"{what} name {name!r}: a version, where a name alone is taken; leave out what follows @"
            )
        raise InputError(
            f"{what} name {name!r}: use 1 to 64 of a-z, 0-9, '.', '_', '-', the first a letter or digit"
        )
    return name


class ArtifactStore(ABC):
    """Content-addressed files; see `open_store`.

    A digest is 64 lower-case hexadecimal digits; an index name is 1 to 64 of ``a-z 0-9 . _ -`` and begins
    with a letter or digit. Anything else raises `InputError`, so that no name leads out of the store. An
    absent digest or name raises `NotFoundError`; a store that cannot be reached or written raises
    `ServiceError`.
    """

    where: str
    """The folder or URL, without passwords."""

    # ---- content -----------------------------------------------------------------------------------

    def put_bytes(self, data: bytes) -> str:
        """Publish `data` and return its sha256; publishing it again updates its time and repairs it."""
        return self._put([memoryview(data)])

    def put_arrays(self, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> str:
        """Publish a safetensors file in canonical bytes and return its sha256."""
        return self._put(safetensors_chunks(arrays, metadata))

    def read_bytes(self, digest: str) -> bytes:
        """Return the content named `digest`; content with another digest raises `ArtifactError`."""
        return bytes(self.content(digest))

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the same as `read_bytes`; in a local store as a memory map, not a copy."""
        path = _content_path(digest)
        with self._faults(self._shown(digest)):
            data = self._read(path)
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            raise ArtifactError(
                f"{self._shown(digest)}: its {len(data)} bytes have sha256 {found}, expected {digest}; "
                "the file is damaged: delete it, then ingest or build again what it held"
            )
        return data

    def open_arrays(self, digest: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the arrays and metadata of a safetensors file, after checking its sha256.

        The arrays are read-only. In a local store they are views of a memory map, which stays valid when the
        file is deleted. Takes one pass over the bytes, without a copy.
        """
        return read_safetensors(self.content(digest), name=self._shown(digest))

    def read_file(self, name: str) -> bytes:
        """Return a file that somebody put into the folder of the store under a name that is not a digest."""
        with self._faults(f"{self.where}/{name}"):
            return bytes(self._read(PurePosixPath(name)))

    def exists(self, digest: str) -> bool:
        """Return whether a file of that name exists; its content is not read."""
        try:
            self.size(digest)
        except NotFoundError:
            return False
        return True

    def is_whole(self, digest: str) -> bool:
        """Return whether the file exists and its bytes match its digest; reads the bytes."""
        try:
            self.content(digest)
        except (ArtifactError, NotFoundError):
            return False
        return True

    def size(self, digest: str) -> int:
        """Return the size of the file in bytes."""
        with self._faults(self._shown(digest)):
            return self._size(_content_path(digest))

    def touch(self, digest: str) -> None:
        """Update the time of the file, so that garbage collection treats it as new."""
        with self._faults(self._shown(digest)):
            self._touch(_content_path(digest))

    def delete(self, digest: str) -> None:
        """Remove the file; an absent file is not an error."""
        with self._faults(self._shown(digest)), contextlib.suppress(FileNotFoundError):
            self._delete(_content_path(digest))

    def modified(self, digest: str) -> float:
        """Return when the file was last published or touched, in seconds since 1970 by the store's clock."""
        with self._faults(self._shown(digest)):
            return self._modified(_content_path(digest))

    def delete_unless_modified(self, digest: str, since: float) -> bool:
        """Remove the file if it was last published or touched before `since`; return whether it was."""
        with self._faults(self._shown(digest)), contextlib.suppress(FileNotFoundError):
            return self._delete_unless_modified(_content_path(digest), since)
        return False

    def digests(self) -> Iterator[str]:
        """Yield the digest of every file, in no particular order, one folder of the store at a time."""
        with self._faults(f"{self.where}/sha256"):
            yield from (name for name in self._list("sha256") if _DIGEST.fullmatch(name))

    def temporaries(self) -> Iterator[tuple[Path, float]]:
        """Yield the temporary files of active and killed writers, each with the time of its last byte."""
        yield from ()

    def local_path(self, digest: str) -> Path | None:
        """Return the path that the file has or would have on this machine, or None for a remote store."""
        _content_path(digest)
        return None

    # ---- index -------------------------------------------------------------------------------------

    def write_index(self, name: str, document: Mapping[str, Any]) -> None:
        """Replace ``index/<name>.json`` as a whole."""
        path = _index_path(name)
        text = json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        with self._faults(f"{self.where}/{path}"):
            self._write(path, [memoryview(text.encode())])

    def read_index(self, name: str) -> dict[str, Any] | None:
        """Return the document of `name`, or None; JSON other than an object raises `ArtifactError`."""
        path = _index_path(name)
        shown = f"{self.where}/{path}"
        try:
            with self._faults(shown):
                document = json.loads(bytes(self._read(path)))
        except NotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ArtifactError(
                f"{shown}: not JSON ({error}); any opening of the ontology on the ingest side rewrites it"
            ) from None
        if not isinstance(document, dict):
            raise ArtifactError(f"{shown}: holds a {type(document).__name__}, expected an object")
        return document

    def delete_index(self, name: str) -> None:
        """Remove the document of `name`; an absent document is not an error."""
        path = _index_path(name)
        with self._faults(f"{self.where}/{path}"), contextlib.suppress(FileNotFoundError):
            self._delete(path)

    def index_names(self) -> list[str]:
        """Return the names that have a document, sorted."""
        with self._faults(f"{self.where}/index"):
            names = [name.removesuffix(".json") for name in self._list("index") if name.endswith(".json")]
        return sorted(name for name in names if _NAME.fullmatch(name))

    # ---- for each kind of store: plain relative paths, OSError for faults --------------------------

    @abstractmethod
    def _write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None: ...
    @abstractmethod
    def _read(self, path: PurePosixPath) -> bytes | mmap.mmap: ...
    @abstractmethod
    def _size(self, path: PurePosixPath) -> int: ...
    @abstractmethod
    def _modified(self, path: PurePosixPath) -> float: ...
    @abstractmethod
    def _touch(self, path: PurePosixPath) -> None: ...
    @abstractmethod
    def _delete(self, path: PurePosixPath) -> None: ...
    @abstractmethod
    def _list(self, folder: str) -> Iterable[str]: ...

    # ---- shared ------------------------------------------------------------------------------------

    def _delete_unless_modified(self, path: PurePosixPath, since: float) -> bool:
        if self._modified(path) >= since:
            return False
        self._delete(path)
        return True

    def _put(self, chunks: Sequence[memoryview]) -> str:
        hashed = hashlib.sha256()
        for chunk in chunks:
            hashed.update(chunk)
        digest = hashed.hexdigest()
        with self._faults(self._shown(digest)):
            self._write(_content_path(digest), chunks)
        return digest

    def _shown(self, digest: str) -> str:
        return f"{self.where}/{_content_path(digest)}"

    @contextlib.contextmanager
    def _faults(self, shown: str) -> Iterator[None]:
        """Turn faults of disk and network into our types, with a next step."""
        try:
            yield
        except (NotFoundError, ServiceError):
            raise
        except FileNotFoundError as error:
            raise NotFoundError(
                f"{shown}: no such file in the artifact store; ingest or build again what it held"
            ) from error
        except OSError as error:
            other = "check that GROVE_ARTIFACTS_URL can be reached and written"
            advice = disk_advice(error, "the store", "GROVE_ARTIFACTS_URL", otherwise=other)
            raise ServiceError(f"{shown}: {masked(error.strerror or str(error))}; {advice}") from error


def _content_path(digest: str) -> PurePosixPath:
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise InputError(f"digest {digest!r}: an artifact is named by 64 lower-case hexadecimal digits")
    return PurePosixPath("sha256", digest[:2], digest)


def _index_path(name: str) -> PurePosixPath:
    return PurePosixPath("index", f"{check_name(name)}.json")


class LocalStore(ArtifactStore):
    """A folder of this machine, or one that several machines share.

    Files and folders created in it get the rights of the folder itself, whatever the umask. If the folder
    does not exist, it is created with access only for its owner.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.where = str(root)

    def local_path(self, digest: str) -> Path | None:
        return self.root / _content_path(digest)

    def _write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        target = self.root / path
        make_folder(self.root)
        rights = stat.S_IMODE(self.root.stat().st_mode)  # whoever can use the folder can use its files
        make_folder(target.parent, rights=rights)
        write_whole(target, chunks, rights=rights & 0o666)
        sync_folder(target.parent)

    def _read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        with open(self.root / path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:  # nothing to map
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _size(self, path: PurePosixPath) -> int:
        return (self.root / path).stat().st_size

    def _modified(self, path: PurePosixPath) -> float:
        return (self.root / path).stat().st_mtime

    def _touch(self, path: PurePosixPath) -> None:
        os.utime(self.root / path)

    def _delete(self, path: PurePosixPath) -> None:
        (self.root / path).unlink()

    def _delete_unless_modified(self, path: PurePosixPath, since: float) -> bool:
        """Move the file away before its time is compared, so that nobody can publish it in between."""
        target = self.root / path
        if self._modified(path) >= since:
            return False
        aside = beside(target)
        os.rename(target, aside)
        if aside.stat().st_mtime >= since:  # published again meanwhile: move it back
            os.replace(aside, target)
            return False
        aside.unlink()
        return True

    def _list(self, folder: str) -> Iterable[str]:
        for where in self._folders(folder):
            yield from (entry.name for entry in _entries(where) if not entry.name.startswith("."))

    def temporaries(self) -> Iterator[tuple[Path, float]]:
        with self._faults(self.where):
            for where in (self.root / "index", *self._folders("sha256")):
                for entry in _entries(where):
                    if entry.name.startswith(TEMPORARY):
                        with contextlib.suppress(FileNotFoundError):  # its writer is alive and has renamed it
                            yield Path(entry.path), entry.stat().st_mtime

    def _folders(self, folder: str) -> Iterable[Path]:
        """Return the folders that hold the files of `folder`; content is one level deeper."""
        top = self.root / folder
        return [top] if folder == "index" else [Path(entry.path) for entry in _entries(top) if entry.is_dir()]


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of `folder`, one at a time; nothing if it does not exist."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        yield from entries


_RETRIES = {"mode": "standard", "max_attempts": 3}  # of each call, with growing pauses
_LARGEST_PUT = 5 * 2**30  # the largest object that S3 takes in one request


class RemoteStore(ArtifactStore):
    """Any service that fsspec supports; objects are written and read as a whole."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise MissingExtraError.of("fsspec", "service", f"the artifact store {masked(url)}") from error
        self.where = masked(url).rstrip("/")
        self._on_s3 = url.startswith(("s3://", "s3a://"))
        options: dict[str, Any] = {}
        if self._on_s3:  # a cached listing would hide what other processes publish
            given = fsspec.config.conf.get("s3", {}).get("config_kwargs", {})
            options = {"use_listings_cache": False, "config_kwargs": {"retries": _RETRIES, **given}}
        try:
            self._system, self._root = fsspec.core.url_to_fs(url, **options)
        except ImportError as error:
            if self._on_s3:
                raise MissingExtraError.of("s3fs", "s3", f"the artifact store {self.where}") from error
            raise MissingExtraError(f"the artifact store {self.where}: {error}") from error
        except ValueError as error:
            raise InputError(f"artifact store {self.where}: {error}") from error
        except OSError as error:  # some systems connect at once
            raise ServiceError(
                f"artifact store {self.where}: {masked(str(error))}; "
                "check that GROVE_ARTIFACTS_URL can be reached"
            ) from error

    def _write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        data = b"".join(chunks)
        options: dict[str, Any] = {}
        if self._on_s3:  # one PUT; the service checks the sha256 before it shows the object
            sha256 = base64.b64encode(hashlib.sha256(data).digest()).decode()
            options = {"chunksize": _LARGEST_PUT, "ChecksumSHA256": sha256}
        self._system.pipe_file(f"{self._root}/{path}", data, **options)

    @contextlib.contextmanager
    def _faults(self, shown: str) -> Iterator[None]:
        with super()._faults(shown):
            try:
                yield
            except GroveError:
                raise
            except Exception as error:  # drivers have their own error classes
                fault = remote_fault(error, shown)
                if fault is None:
                    raise
                raise fault from error

    def _read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        return bytes(self._system.cat_file(f"{self._root}/{path}"))

    def _size(self, path: PurePosixPath) -> int:
        return int(self._system.size(f"{self._root}/{path}"))

    def _modified(self, path: PurePosixPath) -> float:
        self._system.invalidate_cache()  # otherwise a cached listing would answer
        return float(self._system.modified(f"{self._root}/{path}").timestamp())

    def _touch(self, path: PurePosixPath) -> None:
        self._write(path, [memoryview(self._read(path))])  # the time of an object is the time of its last PUT

    def _delete(self, path: PurePosixPath) -> None:
        self._system.rm_file(f"{self._root}/{path}")

    def _list(self, folder: str) -> Iterable[str]:
        for where in self._folders(folder):
            self._system.invalidate_cache()  # only one listing is cached at a time, and no old one
            yield from (path.rpartition("/")[2] for path in self._system.find(where))

    def _folders(self, folder: str) -> Iterable[str]:
        """Return the folders that hold the files of `folder`; content is one level deeper."""
        top = f"{self._root}/{folder}"
        if folder == "index":
            return [top]
        self._system.invalidate_cache()
        try:
            return [str(path) for path in self._system.ls(top, detail=False)]
        except FileNotFoundError:  # nothing was published yet
            return []
