"""Compiled inner loops, one file for each subject; importing any of them needs numba.

The rest of `ontology.geometry` imports these modules inside the functions that call them, so that loading and
scoring stay possible with numpy alone.
"""

import importlib

from labelgrove.ontology import errors

try:
    importlib.import_module("numba")
except ImportError as error:
    raise errors.MissingExtraError.of("numba", "science", "a compiled loop") from error
