"""The geometry of label spaces: arrays in, arrays out.

Importing this package loads numpy alone; names are handed out on first use, and what needs scipy, numba or
highspy loads them then. Distances and Fréchet means stand here; `scoring`, `loci`, `covers`, `selections` and
`summaries` are rooms of their own, and `kernels` holds the compiled inner loops.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
