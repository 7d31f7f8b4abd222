"""Keep the adapters of bundles that were used last open, and renew them while they answer."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict

from labelgrove.adapter import Adapter
from labelgrove.ontology.errors import BindingError, GroveError, NotFoundError
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["Models"]

logger = logging.getLogger(__name__)

_RENEW_S = 1.0

_SHORT = 63  # a whole digest would name any artifact of the store, with so many digits only the bundle fits


class Models:
    """Opens bundles on request and keeps the last ones open; safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
    most : int
        Most bundles kept open.
    """

    def __init__(self, workspace: Workspace, most: int) -> None:
        self.workspace, self._most = workspace, most
        self._opened: OrderedDict[str, _Model] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, ontology: str, bundle: str, digest: str | None = None) -> Adapter:
        """Return an adapter of a bundle, whose columns are the observed labels in the order of the bundle.

        The adapter stays the same, even if the bundle gets a successor while it is used. A named bundle is
        looked up again at most once a second; while that fails, the one that is open goes on to answer.

        Parameters
        ----------
        ontology, bundle : str
        digest : str, optional
            Open the bundle with this digest instead of the newest.

        Raises
        ------
        NotFoundError
            If there is no such bundle.
        GroveError
            As for `labelgrove.adapter.Adapter.load`.
        """
        check_name(ontology)
        check_name(bundle)
        uri = f"{ontology}/{bundle}" if digest is None else f"{ontology}/{bundle}@{digest[:_SHORT]}"
        if self.workspace.only is not None and ontology not in self.workspace.only:
            raise _unknown(uri)
        with self._lock:
            model = self._opened.setdefault(uri, _Model())
            self._opened.move_to_end(uri)
        try:
            adapter = model.current(uri, self.workspace.settings.artifacts_url)
        except GroveError as error:
            with self._lock:
                if self._opened.get(uri) is model:
                    del self._opened[uri]
            if isinstance(error, NotFoundError):  # its message names the folder of the store
                raise _unknown(uri) from error
            raise
        with self._lock:  # only now: a name of no bundle must not close one that is used
            while len(self._opened) > self._most:
                self._opened.popitem(last=False)
        return adapter


def _unknown(uri: str) -> NotFoundError:
    return NotFoundError(f"there is no bundle {uri!r}; see /v1/bundles")


class _Model:
    """One bundle; the first that asks for it opens it, and the others wait."""

    def __init__(self) -> None:
        self._adapter: Adapter | None = None
        self._renewed = 0.0
        self._opening, self._renewing = threading.Lock(), threading.Lock()

    def current(self, uri: str, artifacts_url: str) -> Adapter:
        with self._opening:
            if self._adapter is None:
                self._adapter = _loaded(uri, artifacts_url)
                self._renewed = time.monotonic()
        if time.monotonic() - self._renewed > _RENEW_S and self._renewing.acquire(blocking=False):
            try:
                self._renew(uri, artifacts_url)
            finally:
                self._renewed = time.monotonic()
                self._renewing.release()
        return self._adapter.pinned()

    def _renew(self, uri: str, artifacts_url: str) -> None:
        """Look the bundle up again; unless its name is gone, a failure leaves the one that is open."""
        assert self._adapter is not None
        try:
            self._adapter.refresh()
        except BindingError:  # the newest one is for a model with other classes
            self._adapter = _loaded(uri, artifacts_url)
        except NotFoundError:
            raise
        except GroveError:
            logger.warning("%s cannot be looked up again and answers as before", uri, exc_info=True)


def _loaded(uri: str, artifacts_url: str) -> Adapter:
    return Adapter.load(uri, artifacts_url=artifacts_url, stale="ignore")
