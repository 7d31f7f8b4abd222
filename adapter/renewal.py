"""Where an adapter looks for a newer bundle when it is refreshed, and which ontology version it must keep."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.adapter.loading.source import BundleSource
from labelgrove.ontology.errors import BundleError, InputError

__all__ = ["Renewal", "refuse_other_version"]


@dataclass
class Renewal:
    """The address from which `adapter.Adapter.refresh` loads a bundle, and the ontology version to accept.

    Attributes
    ----------
    source : BundleSource or None
        The address; None for an adapter that was not made from an address.
    mark : tuple
        Mark of the bundle that was last found at the address; see `adapter.loading.source.Located`.
    pin : str
        Digest of the ontology version to accept, or its first digits; empty for any version.
    lock : Lock
        Locked during a refresh.
    """

    source: BundleSource | None = None
    mark: tuple[Any, ...] = ()
    pin: str = ""
    lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def look(self, held: Bundle) -> tuple[Bundle, tuple[Any, ...]] | None:
        """Return a pair: the bundle that is now at the address, and its mark.

        Return None if this mark equals the attribute `mark`, because the address then still has the bundle
        last found there. Also return None if there is no address. `held` is the bundle from which the adapter
        answers now.

        Raises
        ------
        GroveError
            As `adapter.open_bundle`. `BundleError` is also raised if the bundle at the address is not `held`
            and was not made from the pinned version.
        """
        located = None if self.source is None else self.source.locate()
        if located is None or (located.mark and located.mark == self.mark):
            return None
        bundle = located.open()
        if bundle.digest != held.digest:
            refuse_other_version(bundle, self.pin)
        return bundle, located.mark


def refuse_other_version(bundle: Bundle, pin: bool | str) -> None:
    """Raise `BundleError` for a bundle that was not made from the pinned ontology version.

    Parameters
    ----------
    bundle : Bundle
        The bundle to check.
    pin : bool or str
        Digest of the pinned version, or 8 or more of its first digits. True accepts any bundle that names a
        version; False or empty text accepts every bundle.
    """
    if not pin:
        return
    if pin is not True and not (isinstance(pin, str) and re.fullmatch("[0-9a-f]{8,64}", pin)):
        raise InputError(
            f"pin: {pin!r} given; give True for the version that the bundle was made from, or the first 8 to "
            "64 hexadecimal digits of a version's digest"
        )
    made_from = bundle.ontology_digest
    if not made_from:
        raise BundleError(
            f"bundle {bundle.digest[:12]}: it names no ontology version to pin; build it from a version "
            "with: grove bundle build, or leave out pin"
        )
    if pin is not True and not made_from.startswith(pin):
        raise BundleError(
            f"bundle {bundle.digest[:12]}: made from ontology version {made_from[:12]}, but the adapter is "
            f"pinned to {pin[:12]}; load it again with Adapter.load to use the new version, or name the old "
            "bundle by its digest"
        )
