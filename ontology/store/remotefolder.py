"""Files of a service that fsspec supports, such as ``s3://`` and ``gs://``."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from labelgrove.ontology.errors import InputError, MissingExtraError, ServiceError
from labelgrove.ontology.settings import masked
from labelgrove.ontology.store.remote_faults import remote_fault
from labelgrove.ontology.store.storage import Storage

__all__ = ["RemoteFolder"]

_RETRIES = {"mode": "standard", "max_attempts": 3}  # of each call, with growing pauses
_LARGEST_PUT = 5 * 2**30  # the largest object that S3 takes in one request


class RemoteFolder(Storage):
    """A folder of a service that fsspec supports; objects are written and read as a whole.

    Errors of the service's driver are raised as `ServiceError`, which is an `OSError`.

    Raises
    ------
    MissingExtraError
        If fsspec or the driver of this kind of URL is not installed.
    InputError
        For a URL that fsspec does not know.
    ServiceError
        If the driver connects when it is created, and cannot reach the service.
    """

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

    def write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        """Write an object in one request."""
        data = b"".join(chunks)
        options: dict[str, Any] = {}
        if self._on_s3:  # one PUT; the service checks the sha256 before it shows the object
            sha256 = base64.b64encode(hashlib.sha256(data).digest()).decode()
            options = {"chunksize": _LARGEST_PUT, "ChecksumSHA256": sha256}
        self._call(self._system.pipe_file, path, data, **options)

    def read(self, path: PurePosixPath) -> bytes:
        """Return the content of an object."""
        return bytes(self._call(self._system.cat_file, path))

    def size(self, path: PurePosixPath) -> int:
        """Return the size of an object in bytes."""
        return int(self._call(self._system.size, path))

    def modified(self, path: PurePosixPath) -> float:
        """Return when an object was last written, by the clock of the service."""
        self._system.invalidate_cache()  # otherwise a cached listing would answer
        return float(self._call(self._system.modified, path).timestamp())

    def touch(self, path: PurePosixPath) -> None:
        """Set the time of an object to now by writing it again; its time is that of its last write."""
        self.write(path, [memoryview(self.read(path))])

    def delete(self, path: PurePosixPath) -> None:
        """Remove an object."""
        self._call(self._system.rm_file, path)

    def list(self, folder: str) -> Iterable[str]:
        """Return the names of the objects in the folder ``index`` or ``sha256``."""
        for where in self._folders(folder):
            self._system.invalidate_cache()  # only one listing is cached at a time, and no old one
            yield from (path.rpartition("/")[2] for path in self._call(self._system.find, where))

    def _folders(self, folder: str) -> Iterable[str]:
        """Return the folders that contain the objects of `folder`.

        For ``index``, this is the folder itself. For ``sha256``, these are the folders inside it.
        """
        if folder == "index":
            return [folder]
        self._system.invalidate_cache()
        try:
            inner = self._call(self._system.ls, folder, detail=False)
        except FileNotFoundError:  # nothing was published yet
            return []
        return [f"{folder}/{str(path).rstrip('/').rpartition('/')[2]}" for path in inner]

    def _call(
        self, operation: Callable[..., Any], path: PurePosixPath | str, *arguments: Any, **options: Any
    ) -> Any:
        """Call an operation of fsspec on `path`; translate errors of drivers into ours."""
        try:
            return operation(f"{self._root}/{path}", *arguments, **options)
        except Exception as error:
            fault = remote_fault(error, f"{self.where}/{path}")
            if fault is None:
                raise
            raise fault from error
