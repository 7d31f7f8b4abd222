"""The graph on a Neo4j server."""
