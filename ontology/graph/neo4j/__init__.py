"""The graph on a Neo4j server."""

from labelgrove.ontology.errors import MissingExtraError

try:
    import neo4j  # noqa: F401  (checked once here, so that modules of the folder can simply import it)
except ImportError as error:
    raise MissingExtraError.of("neo4j", "service", "the Neo4j graph") from error

__all__: list[str] = []
