"""The graph of labels: one contract, two engines, Cypher in named files.

`open_graph` gives the store that the settings name. A driver is loaded when its engine is opened. A store has an
engine; arrows go down::

    store                              what a graph of labels is asked, the same on every engine
    resultstore  climbing              results of jobs; the way up from a label
    neo4j  embedded                    an engine each, and the program that answers one user query on it
    engine  userqueries                the operations of an engine; what users may ask
    records  results  named  migrate   labels as tables; results as nodes; Cypher in files
"""

from __future__ import annotations

import os
from pathlib import Path

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.graph.errors import GraphDamagedError
from labelgrove.ontology.graph.rows import Rows
from labelgrove.ontology.graph.store import GraphStore
from labelgrove.ontology.settings import Settings

__all__ = ["GraphDamagedError", "GraphStore", "Rows", "open_graph"]


def open_graph(settings: Settings) -> GraphStore:
    """Open the graph store that ``settings.graph_url`` names; nothing is reached before its first use.

    Parameters
    ----------
    settings : Settings
        ``embedded:FOLDER`` or a Bolt URL such as ``bolt://user:password@host:7687``.

    Raises
    ------
    MissingExtraError
        When the engine's package is not installed.
    SettingsError
        For a URL that names no folder or host.
    """
    if settings.graph_is_embedded:
        folder = settings.graph_url.removeprefix("embedded:")
        if not folder:
            raise SettingsError("GROVE_GRAPH_URL: 'embedded:' names no folder; write embedded:/path/to/graph")
        from labelgrove.ontology.graph.embedded.engine import EmbeddedEngine

        pool_bytes = None if settings.graph_pool_mb is None else settings.graph_pool_mb << 20
        return GraphStore(EmbeddedEngine(Path(os.path.expanduser(folder)).absolute(), pool_bytes))
    from labelgrove.ontology.graph.neo4j.engine import Neo4jEngine

    return GraphStore(Neo4jEngine(settings.graph_url))
