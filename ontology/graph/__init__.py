"""The graph of labels: one contract, two engines, Cypher in named files.

`open_graph` gives the store that the settings name; a driver is loaded when its engine is opened. Arrows go
down::

    graphstore                  what a graph of labels is asked, the same on every engine
    resultstore  ancestors      results of jobs; the way up from a label
    neo4j  embedded             the engines, and the program that answers one user query on each
    engine  userqueries         the operations of an engine; what users may ask, and how it is run
    labeltables  results        labels as tables of rows; results of jobs as nodes
    namedqueries  migrate       Cypher in files
    answer  cyphertokens        the answer to a query; the words of one
"""

from __future__ import annotations

import os
from pathlib import Path

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.graphstore import GraphStore
from labelgrove.ontology.settings import Settings

__all__ = ["GraphStore", "Rows", "open_graph"]


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
        from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine

        pool_bytes = None if settings.graph_pool_mb is None else settings.graph_pool_mb << 20
        return GraphStore(EmbeddedEngine(Path(os.path.expanduser(folder)).absolute(), pool_bytes))
    from labelgrove.ontology.graph.neo4j.neo4jengine import Neo4jEngine

    return GraphStore(Neo4jEngine(settings.graph_url))
