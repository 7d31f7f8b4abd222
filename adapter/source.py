"""Where a bundle comes from: a file, a digest, or a name in the static index of the artifact store.

Nothing here asks a database: a model server needs the artifact store alone.
"""

from __future__ import annotations

import difflib
import os
import re
from urllib.parse import unquote, urlsplit

from adapter.bundle import Bundle
from adapter.cache import through_cache
from ontology.artifacts import ArtifactStore, open_store
from ontology.errors import ArtifactError, InputError, NotFoundError
from ontology.settings import Settings

__all__ = ["open_bundle"]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAMED = re.compile(r"([a-z0-9][a-z0-9._-]*)/([a-z0-9][a-z0-9._-]*)")
_FORMS = (
    "give a path (absolute, beginning with '.' or '~', or ending in .safetensors), a file: URL, "
    "a digest of 64 hexadecimal digits, or ontology/bundle"
)


def open_bundle(uri: str | os.PathLike[str], *, artifacts_url: str | None = None) -> Bundle:
    """Open a bundle, its bytes checked, memory-mapped where it lies on this machine.

    What is not on this machine is fetched once and kept: see `adapter.cache`.

    Parameters
    ----------
    uri : str or path
        - a path object, or text that is absolute, begins with ``.`` or ``~``, or ends in ``.safetensors``:
          a file;
        - ``file:///...``: the same;
        - 64 hexadecimal digits: an artifact of the store;
        - ``ontology/bundle``: what the index of the store says under that name.

        What a text means never depends on which files happen to exist.
    artifacts_url : str, optional
        The artifact store; by default that of the settings (``GROVE_ARTIFACTS_URL``).

    Raises
    ------
    InputError
        For text of no such form.
    NotFoundError
        For a file, digest, ontology or bundle that is not there; names in reach are listed.
    ArtifactError
        For bytes that are not what their digest promises, and a file that cannot be read; `BundleError` where
        they are no bundle of this format.

    Examples
    --------
    >>> open_bundle("animals")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ontology.errors.InputError: bundle 'animals': no form of address; give a path (absolute, ...
    """
    if isinstance(uri, os.PathLike):
        return Bundle.load(uri)
    if not isinstance(uri, str):
        raise InputError(f"bundle {uri!r}: of type {type(uri).__name__}; {_FORMS}")
    if uri.startswith("file:"):
        parts = urlsplit(uri)
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise InputError(
                f"bundle {uri!r}: a file URL has three slashes, as in file:///srv/animals.safetensors"
            )
        return Bundle.load(unquote(parts.path))
    if uri.startswith((".", "~")) or os.path.isabs(uri) or uri.endswith(".safetensors"):
        return Bundle.load(os.path.expanduser(uri))  # an unknown ~user stays as it is, and is not found
    if _DIGEST.fullmatch(uri):
        return _from_store(_store(artifacts_url), uri)
    named = _NAMED.fullmatch(uri)
    if not named:
        raise InputError(f"bundle {uri!r}: no form of address; {_FORMS}")
    store = _store(artifacts_url)
    return _from_store(store, _look_up(store, *named.groups()))


def _store(artifacts_url: str | None) -> ArtifactStore:
    settings = Settings.from_env()
    return through_cache(open_store(artifacts_url or settings.artifacts_url), settings)


def _from_store(store: ArtifactStore, digest: str) -> Bundle:
    arrays, metadata = store.open_arrays(digest)
    return Bundle.from_arrays(arrays, metadata, name=f"{store.where}: artifact {digest}")


def _look_up(store: ArtifactStore, ontology: str, name: str) -> str:
    document = store.read_index(ontology)
    if document is None:
        known = store.index_names()
        raise NotFoundError(
            f"{store.where}: no ontology {ontology!r} in the index; {_known(ontology, known)}; "
            "ingest it, or point GROVE_ARTIFACTS_URL at the store that has it"
        )
    bundles = document.get("bundles")
    if not isinstance(bundles, dict):
        raise ArtifactError(f"{store.where}/index/{ontology}.json: holds no table of bundles")
    entry = bundles.get(name)
    if entry is None:
        raise NotFoundError(
            f"{store.where}: ontology {ontology!r} has no bundle {name!r}; {_known(name, sorted(bundles))}; "
            "build one with: grove bundle build"
        )
    digest = entry.get("sha256") if isinstance(entry, dict) else None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ArtifactError(f"{store.where}/index/{ontology}.json: bundle {name!r} has sha256 {digest!r}")
    return digest


def _known(wanted: str, names: list[str]) -> str:
    if not names:
        return "there is none yet"
    near = difflib.get_close_matches(wanted, names, n=5) or names[:5]
    return f"{len(names)} known, among them {', '.join(map(repr, near))}"
