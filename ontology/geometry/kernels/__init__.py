"""Compiled inner loops, one module for each subject; importing any of these modules needs numba.

The rest of `ontology.geometry` imports these modules inside the functions that call them, so numpy is
enough to load a bundle and to score.
"""

import importlib

from labelgrove.ontology import errors

try:
    importlib.import_module("numba")
except ImportError as error:
    raise errors.MissingExtraError.of("numba", "science", "a compiled loop") from error
