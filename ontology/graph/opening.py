"""Open the graph store that the settings name."""

from __future__ import annotations

import os
from pathlib import Path

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.graph.graphstore import GraphStore
from labelgrove.ontology.settings import Settings

__all__ = ["open_graph"]


def open_graph(settings: Settings) -> GraphStore:
    """Open the graph store that ``settings.graph_url`` names; the store connects when it is first used.

    Parameters
    ----------
    settings : Settings
        The settings, with ``embedded:FOLDER`` or a Bolt URL such as ``bolt://user:password@host:7687``.

    Raises
    ------
    MissingExtraError
        If the engine's package is not installed.
    SettingsError
        For a URL without a folder or host.
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
