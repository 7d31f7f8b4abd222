"""The geometry of label spaces: functions from arrays to arrays.

Importing this package loads only numpy. Its names are imported on first use, and functions that need scipy,
numba or highspy load them when they are called. The modules in this folder compute Fréchet means. The
subfolders are `spaces`, `paths`, `scoring`, `loci`, `covers`, `selections`, `summaries`, and `kernels`, which
contains the compiled inner loops.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
