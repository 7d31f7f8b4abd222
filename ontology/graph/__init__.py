"""The graph of labels, in a Neo4j server or in an embedded engine, with the same operations on both.

`open_graph` opens the store that the settings name. Of the drivers of the two engines, it imports only the
one that this store needs. In this list, a module imports only modules on the lines below it::

    opening                     the store that the settings name
    graphstore                  the queries on a graph of labels, the same on every engine
    resultstore                 results of jobs
    neo4j  embedded             the engines; for each, a program that answers a single user query
    engine  userqueries         the operations of an engine; which queries users may run, and how they run
    annotationtables            names and definitions as tables of rows
    labeltables  results        labels as tables of rows; results of jobs as nodes
    namedqueries  migrate       Cypher in files
    answer  cyphertokens        the answer to a query; the tokens of a query
"""

from __future__ import annotations

from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.graphstore import GraphStore
from labelgrove.ontology.graph.opening import open_graph

__all__ = ["GraphStore", "Rows", "open_graph"]
