"""labelgrove: let a classifier that knows K classes answer with any of N related labels.

It offers the most used names of `adapter` and `ontology`, and loads each on first use:

>>> import labelgrove
>>> graph = labelgrove.LabelGraph.grid((3, 3))
>>> space = labelgrove.metric_space(graph)
>>> list(labelgrove.frechet_mean_set(space, ["0,0", "2,2"], [0.5, 0.5]))
['0,2', '1,1', '2,0']
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
