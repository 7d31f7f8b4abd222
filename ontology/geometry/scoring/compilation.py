"""Compilation: decides when a scorer uses compiled loops.

Compiled loops need numba and take a while to load, so a scorer begins without them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module
from typing import Any

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.scoring.kernelloading import is_loaded, load, load_in_background

__all__ = ["Compilation"]

_WORTH_LOADING = 0.5  # seconds: about as long as loading takes
_NOT_TIMED = nullcontext()


class Compilation:
    """Adds up the time that a scorer has spent without a compiled module, to load it once it is worth it.

    Parameters
    ----------
    module : str
        Full name of a module that imports numba.
    rehearsal : str
        Name of the rehearsal (see `ontology.geometry.rehearsals`) that calls all kernels of the module.
    wanted : bool or None
        Whether to use the module. None: use it as soon as this process has loaded its kernels. They are
        loaded in the background once scoring without them has taken half a second.
    """

    def __init__(self, module: str, rehearsal: str, wanted: bool | None) -> None:
        self._name, self._rehearsal, self._wanted = module, rehearsal, wanted
        self._module: Any = None
        self._spent = 0.0

    def module(self) -> Any:
        """Return the module, or None if the scorer should go on without it.

        Raises
        ------
        MissingExtraError
            If `wanted` is True and numba is not installed.
        """
        if self._module is None and (self._wanted or (self._wanted is None and is_loaded(self._rehearsal))):
            self._module = import_module(self._name)
        return self._module

    def warm(self) -> None:
        """Load or compile the kernels now; do nothing if `wanted` is False or numba is not installed."""
        if self._wanted is not False:
            with suppress(MissingExtraError):
                load(self._rehearsal)

    def timed(self) -> AbstractContextManager[object]:
        """Return a context that counts the time spent in it as work that the module would do faster."""
        return _NOT_TIMED if self._module is not None or self._wanted is False else self._counting()

    @contextmanager
    def _counting(self) -> Iterator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            self._spent += time.thread_time() - began
            if self._spent > _WORTH_LOADING:
                load_in_background(self._rehearsal)
