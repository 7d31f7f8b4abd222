"""Open a bundle by its address: a file, a URL, a digest, or a name in the artifact store's static index.

No database is used: a model server needs only the artifact store or, without a network, its cache.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from labelgrove.adapter.bundles.bundle import Bundle, read_bundle
from labelgrove.adapter.loading.cache import local_cache, through_cache
from labelgrove.adapter.loading.fetching import FetchedFile, fetched_file
from labelgrove.adapter.loading.offline import OfflineStore
from labelgrove.adapter.loading.rediscache import redis_cache
from labelgrove.adapter.loading.stamps import Stamps, mark_used
from labelgrove.ontology.errors import (
    ArtifactError,
    BundleError,
    GroveError,
    InputError,
    NotFoundError,
)
from labelgrove.ontology.settings import Settings, masked
from labelgrove.ontology.spelling import close_words
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store, read_safetensors

__all__ = ["BundleSource", "Stale", "Verify", "bundle_name", "open_bundle"]

Verify = Literal["once", "always"]
"""How often the bytes of an artifact are compared with its digest; see `open_bundle`."""

Stale = Literal["warn", "refuse", "ignore"]
"""What to do with a bundle whose ontology version is no longer the current one; see `open_bundle`."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAMED = re.compile(r"([a-z0-9][a-z0-9._-]{0,63})/([a-z0-9][a-z0-9._-]{0,63})(?:@(latest|[0-9a-f]{8,64}))?")
_HEX = re.compile(r"[0-9a-f]+")
_SHORTEST = 8  # fewest digits that look like the beginning of a digest
_FORMS = (
    "give a path (absolute, beginning with '.' or '~', or ending in .safetensors), a URL (file:, s3://, "
    "redis://host:port/db/DIGEST), a digest of 64 hexadecimal digits, or ontology/bundle, which may be "
    "followed by @latest, or by @ and at least 8 digits of the digest of the bundle"
)

_Readable = ArtifactStore | OfflineStore | FetchedFile
"""What one artifact can be read from."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Located:
    """The bundle that an address refers to now.

    Attributes
    ----------
    mark : tuple
        Identifies the bundle: if two marks are equal and not empty, they belong to the same bundle. The mark
        is empty if the bundle must be opened to find out which one it is, or if its file cannot be found.
    open : callable
        Opens the bundle.
    """

    mark: tuple[Any, ...]
    open: Callable[[], Bundle]


@dataclass(frozen=True)
class BundleSource:
    """An address of a bundle and the settings for reading it; the arguments are those of `open_bundle`."""

    uri: str | os.PathLike[str]
    artifacts_url: str | None = None
    offline: bool | None = None
    verify: Verify = "once"
    stale: Stale = "warn"

    def __post_init__(self) -> None:
        for name, value, known in (("verify", self.verify, Verify), ("stale", self.stale, Stale)):
            if value not in get_args(known):
                raise InputError(f"{name}: {value!r} given; choose {' or '.join(map(repr, get_args(known)))}")

    def locate(self) -> Located:
        """Find the bundle that the address refers to now, without reading the bundle.

        Raises
        ------
        GroveError
            As for `open_bundle`.
        """
        uri = self.uri
        if isinstance(uri, os.PathLike):
            return _file(os.fspath(uri))
        if not isinstance(uri, str):
            raise InputError(f"bundle {uri!r}: the address is of type {type(uri).__name__}; {_FORMS}")
        if uri.startswith("file:"):
            parts = urlsplit(uri)
            if parts.netloc not in ("", "localhost") or not parts.path:
                raise InputError(
                    f"bundle {uri!r}: a file URL has three slashes, as in file:///srv/animals.safetensors"
                )
            return _file(unquote(parts.path))
        if uri.startswith(("redis://", "rediss://")):
            return self._redis(uri)
        if re.match(r"[a-z][a-z0-9+.-]*://", uri):
            return self._url(uri)
        if uri.startswith((".", "~")) or os.path.isabs(uri) or uri.endswith(".safetensors"):
            return _file(os.path.expanduser(uri))  # an unknown ~user is left as it is, and not found
        if _DIGEST.fullmatch(uri):
            return self._artifact(self._store(), uri)
        named = _NAMED.fullmatch(uri)
        if not named:
            raise InputError(
                f"bundle {masked(uri)!r}: not a known form of address; {_fault(uri)}{self._near(uri)}"
            )
        return self._named(*named.groups())

    # ---- each form of address ----------------------------------------------------------------------

    def _named(self, ontology: str, name: str, at: str | None) -> Located:
        store = self._store()
        if at and _DIGEST.fullmatch(at):  # that artifact, whatever the name means now
            return self._artifact(store, at)
        document = _document(store, ontology)
        digest = _look_up(store, document, ontology, name)
        if at and at != "latest" and not digest.startswith(at):
            versions = [document.get("version"), _entry(document, name).get("version")]
            if any(str(version).startswith(at) for version in versions):
                raise NotFoundError(
                    f"bundle {ontology}/{name}@{at}: {at} is a version of the ontology {ontology!r}; after "
                    f"@, give the digest of the bundle, which is now {digest}; or leave out @{at}"
                )
            raise NotFoundError(
                f"bundle {ontology}/{name}@{at}: this name now refers to {digest}, which does not begin with "
                f"{at} (according to the index of {store.where}); for the current bundle, give @latest; for "
                f"an earlier one, give its full 64-digit digest ({ontology}/{name}@DIGEST); `grove jobs list "
                "--kind bundle --json` shows it as result_sha256"
            )
        located = self._artifact(store, digest)
        current = document.get("version")

        def opened() -> Bundle:
            bundle = located.open()
            self._compare(f"{ontology}/{name}", bundle.ontology_digest, current)
            return bundle

        return Located(located.mark, opened)

    def _near(self, uri: str) -> str:
        """Return the end of an error message: the bundles that the user may have meant by a wrong address."""
        wanted = uri.lower()
        try:
            store = self._store()
            named = {
                f"{ontology}/{name}": str(entry.get("sha256"))
                for ontology in store.index_names()
                for name, entry in _bundles(store.read_index(ontology) or {}).items()
                if isinstance(entry, dict)
            }
        except GroveError:  # the caller reports the wrong address in any case
            return ""
        short = wanted.rpartition("@")[2]
        near = [one for one, digest in named.items() if _HEX.fullmatch(short) and digest.startswith(short)]
        near = near or [one for one in named if one in (wanted, wanted.partition("@")[0])]
        near = near or [one for one in named if one.startswith(f"{wanted}/")]
        near = near or close_words(wanted, named)
        return f"; did you mean {' or '.join(near[:3])}?" if near else ""

    def _redis(self, url: str) -> Located:
        address, _, digest = url.rpartition("/")
        if not _DIGEST.fullmatch(digest) or not re.fullmatch(r"rediss?://[^/]+/\d+", address):
            raise InputError(
                f"bundle {masked(url)!r}: a Redis URL names the cache entry of a digest, as in "
                "redis://:password@host:6379/0/DIGEST with the 64 digits of the bundle's digest"
            )
        settings = Settings.from_env()
        if self._is_offline():
            return self._artifact(OfflineStore(local_cache(settings), masked(address)), digest)
        redis = redis_cache(address)
        entry = FetchedFile(redis.where, lambda: redis.entry(digest), local_cache(settings))
        return self._artifact(entry, digest)

    def _url(self, url: str) -> Located:
        address, _, fragment = url.partition("#")
        folder, _, name = address.rpartition("/")
        given = fragment.removeprefix("sha256=") if fragment else name
        if (fragment and not _DIGEST.fullmatch(given)) or not name or folder.endswith(":/"):
            raise InputError(
                f"bundle {masked(url)!r}: a URL names one bundle file, as in s3://bucket/a.safetensors; it "
                "may be followed by #sha256= and the 64 digits of the digest of the file"
            )
        cache, shown = local_cache(Settings.from_env()), masked(address)
        known = given if _DIGEST.fullmatch(given) else None
        if self._is_offline():
            if known is None:
                raise NotFoundError(
                    f"offline: {shown} cannot be requested; add #sha256=DIGEST to find the copy in "
                    f"{cache.folder}, or load it while online"
                )
            return self._artifact(OfflineStore(cache, shown), known)
        file = FetchedFile(shown, lambda: fetched_file(address), cache)
        if known is not None:
            return self._artifact(file, known)

        def opened() -> Bundle:
            data = fetched_file(address)
            arrays, metadata = read_safetensors(data, name=shown)  # before keeping it, to keep only bundles
            Bundle.from_arrays(arrays, metadata, name=shown)
            return self._artifact(file, cache.keep(data)).open()

        return Located((), opened)

    def _artifact(self, store: _Readable, digest: str) -> Located:
        return Located(("sha256", digest), lambda: self._opened(store, digest))

    # ---- reading -----------------------------------------------------------------------------------

    def _opened(self, store: _Readable, digest: str) -> Bundle:
        name = f"{store.where}: artifact {digest}"
        path = store.local_path(digest)
        if path is None:
            return _checked_bundle(store, digest, name)
        cache = local_cache(Settings.from_env()).folder
        stamps = Stamps(cache)
        data = stamps.open(path, digest) if self.verify == "once" else None
        if data is not None:
            if path.is_relative_to(cache):
                mark_used(path)
            return Bundle.from_arrays(
                *read_safetensors(data, name=name), name=name, digest=digest, checked=True
            )
        seen = stamps.seen(path)
        if seen is None:  # not on this machine yet: fetch it, then read the kept copy
            store.content(digest)
            seen = stamps.seen(path)
        bundle = _checked_bundle(store, digest, name)
        stamps.record(path, digest, seen)
        return bundle

    def _compare(self, name: str, made_from: str, current: object) -> None:
        if self.stale == "ignore" or not made_from or not isinstance(current, str) or made_from == current:
            return
        text = (
            f"bundle {name} is stale: made from version {made_from[:12]} of its ontology, while the "
            f"current version is {current[:12]}; build it again with: "
            f"grove bundle build {name.replace('/', ' ')} --observed KEYS"
        )
        if self.stale == "refuse":
            raise BundleError(f"{text}; or load it with stale='warn' or 'ignore'")
        _log.warning("%s", text)

    def _store(self) -> ArtifactStore | OfflineStore:
        settings = Settings.from_env()
        url = self.artifacts_url or settings.artifacts_url
        if not self._is_offline():
            return through_cache(open_store(url), settings)
        if "://" not in url or url.startswith("file://"):
            return open_store(url)
        return OfflineStore(local_cache(settings), masked(url).rstrip("/"))

    def _is_offline(self) -> bool:
        return Settings.from_env().offline if self.offline is None else self.offline


def open_bundle(
    uri: str | os.PathLike[str],
    *,
    artifacts_url: str | None = None,
    offline: bool | None = None,
    verify: Verify = "once",
    stale: Stale = "warn",
) -> Bundle:
    """Open a bundle and check its bytes; a file on this machine is memory-mapped.

    A bundle that is not on this machine is fetched once and kept: see `adapter.loading.cache`.

    Parameters
    ----------
    uri : str or path
        - a path object, or text that is an absolute path, begins with ``.`` or ``~``, or ends in
        ``.safetensors``:
          a file;
        - ``file:///...``: the file at this path;
        - ``s3://bucket/x.safetensors`` or another URL that fsspec reads: that file. If ``#sha256=DIGEST``
          follows or the file is named by its digest, it is fetched only if there is no local copy;
        - ``redis://host:port/db/DIGEST``: the cache entry of a digest in that Redis;
        - 64 hexadecimal digits: an artifact of the store;
        - ``ontology/bundle`` or ``ontology/bundle@latest``: the bundle that the store's index has under that
          name;
        - ``ontology/bundle@DIGEST``: with 64 digits, the artifact with this digest, even if the name now
          refers to another bundle; with 8 to 63, the bundle that the name refers to now, if its digest
          begins with these digits.

        How an address is read never depends on which files exist.
    artifacts_url : str, optional
        The artifact store; by default the store in the settings (``GROVE_ARTIFACTS_URL``).
    offline : bool, optional
        True: only files and folders on this machine are read, and a name refers to the bundle that it
        referred to when the index was last read. By default the value of ``GROVE_OFFLINE`` (1 or 0; 0 unless
        set).
    verify : {"once", "always"}, default="once"
        When an artifact arrives, it is compared with its digest and checked by the rules of the format.
        ``"once"``: it is not checked again while the device, inode, size and time of last change of its file
        stay the same. ``"always"``: it is checked again whenever it is opened.
    stale : {"warn", "refuse", "ignore"}, default="warn"
        What to do if the address is a name, and its bundle was made from a version of the ontology other than
        the current one in the index: log a warning, raise `BundleError`, or do nothing.

    Raises
    ------
    InputError
        For an address in none of these forms.
    NotFoundError
        For a file, digest, ontology or bundle that does not exist; the message lists the known names.
    ArtifactError
        For bytes that do not match their digest, and for a file that cannot be read. `BundleError` is raised
        for bytes that are not a bundle of this format, and for a stale bundle that is refused.
    ServiceError
        For a store or Redis that cannot be reached.

    Examples
    --------
    >>> open_bundle("animals")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    labelgrove.ontology.errors.InputError: bundle 'animals': not a known form of address; ...
    """
    return BundleSource(uri, artifacts_url, offline, verify, stale).locate().open()


def bundle_name(uri: str) -> tuple[str, str] | None:
    """Return the ontology and the bundle in an address ``ontology/bundle``; None for other addresses."""
    named = _NAMED.fullmatch(uri)
    return (named[1], named[2]) if named else None


def _file(path: str) -> Located:
    try:
        status = os.stat(path)
        mark: tuple[Any, ...] = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):  # opening reports the fault
        mark = ()
    return Located(mark, lambda: read_bundle(Path(path)))


def _checked_bundle(store: _Readable, digest: str, name: str) -> Bundle:
    return Bundle.from_arrays(*read_safetensors(store.content(digest), name=name), name=name, digest=digest)


def _document(store: ArtifactStore | OfflineStore, ontology: str) -> dict[str, Any]:
    document = store.read_index(ontology)
    if document is None:
        known = store.index_names()
        raise NotFoundError(
            f"bundle of {ontology}: no ontology {ontology!r} in the index of {store.where}; "
            f"{_known(ontology, known)}; ingest it, or point GROVE_ARTIFACTS_URL at the store that has it"
        )
    return document


def _look_up(store: ArtifactStore | OfflineStore, document: dict[str, Any], ontology: str, name: str) -> str:
    if not isinstance(document.get("bundles"), dict):
        raise ArtifactError(
            f"{store.where}/index/{ontology}.json: it has no object 'bundles', so the file is damaged; "
            "publish a bundle of the ontology again"
        )
    bundles = _bundles(document)
    if bundles.get(name) is None:
        raise NotFoundError(
            f"bundle {ontology}/{name}: ontology {ontology!r} has no bundle {name!r} in the index of "
            f"{store.where}; {_known(name, sorted(bundles))}; build one with: grove bundle build"
        )
    digest = _entry(document, name).get("sha256")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ArtifactError(
            f"{store.where}/index/{ontology}.json: bundle {name!r} has sha256 {digest!r}, not 64 hexadecimal "
            "digits; publish the bundle again"
        )
    return digest


def _bundles(document: dict[str, Any]) -> dict[str, Any]:
    """Return the bundles in an index document, by name; an empty dict if the document is malformed."""
    bundles = document.get("bundles")
    return bundles if isinstance(bundles, dict) else {}


def _entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    entry = _bundles(document).get(name)
    return entry if isinstance(entry, dict) else {}


def _fault(uri: str) -> str:
    """Return what is wrong with an address that looks like one of the known forms.

    For any other address, return the list of the known forms.
    """
    name, at, _ = uri.partition("@")
    if _NAMED.fullmatch(uri.lower()) or _DIGEST.fullmatch(uri.lower()):
        return "names and digests are written in lower case"
    if at and _NAMED.fullmatch(name):
        return "after @, give latest, or 8 to 64 hexadecimal digits of the digest of the bundle"
    if len(uri) >= _SHORTEST and _HEX.fullmatch(uri.lower()):
        much = "short" if len(uri) < 64 else "long"
        return f"a digest has 64 hexadecimal digits, and this has {len(uri)}: it is too {much}"
    return _FORMS


def _known(wanted: str, names: list[str]) -> str:
    if not names:
        return "there is none yet"
    near = close_words(wanted, names, 5) or names[:5]
    return f"{len(names)} known, among them {', '.join(map(repr, near))}"
