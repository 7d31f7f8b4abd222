"""Remove very many relationships from the embedded engine, by copying the relationships that remain.

To delete one relationship, the engine searches all relationships of its node. For a locus with a million
labels, this takes hours. Therefore the relationships that remain are copied into a new table, which then
replaces the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.resultschema import result_schema

__all__ = ["MANY", "thin_out"]

MANY = 10_000
"""Most relationships of one type that the engine itself removes, one by one; this takes about a second."""

_Patterns = Mapping[str, tuple[str, str]]


def _patterns(name: str) -> _Patterns:
    """Return a dictionary of Cypher patterns for the relationships that a named query may remove.

    There is one entry for each table of relationships. The key is the name of the table. The value is a pair:
    the variable that stands for the node where the relationship starts, and the pattern. In a pattern, ``r``
    is the result, ``e`` the relationship and ``b`` the node where it ends.
    """
    if name == "drop_result_links":
        return {
            table: ("r", f"MATCH (r:{label})-[e:{table}]->(b:Label)")
            for label, tables in result_schema().links.items()
            for table in tables
        }
    if name == "drop_supernode_links":
        return {
            table: ("a", f"MATCH (r:Summary)-[:HAS]->(a:Supernode)-[e:{table}]->(b:{target})")
            for table, target in (("CONTAINS", "Label"), ("ADJACENT", "Supernode"))
        }
    return {}


def thin_out(name: str, execute: Callable[[str], Rows]) -> None:
    """Remove many relationships that a named query would otherwise remove one by one.

    If the query would remove more than `MANY` relationships from a table, this function removes them. It
    leaves other tables to the query. Relationships are removed only from results that are being dropped: the
    property ``version`` of these results is empty.

    Parameters
    ----------
    name : str
        Name of a query. If the query does not remove relationships of results, nothing is done.
    execute : callable
        Runs a Cypher statement and returns its rows.
    """
    for table, (begin, pattern) in _patterns(name).items():
        doomed = execute(f"{pattern} WHERE r.version = '' RETURN count(e) AS n").rows[0][0]
        if doomed > MANY:
            _keep(table, begin, f"{pattern} WHERE r.version <> ''", execute)


def _keep(table: str, begin: str, pattern: str, execute: Callable[[str], Rows]) -> None:
    ((source, target, source_key, target_key),) = execute(f"CALL show_connection('{table}') RETURN *").rows
    properties = [(row[1], row[2]) for row in execute(f"CALL table_info('{table}') RETURN *").rows]
    declared = "".join(f", {name} {kind}" for name, kind in properties)
    columns = "".join(f", e.{name}" for name, _ in properties)
    kept = f"{table}_KEPT"
    execute(f"CREATE REL TABLE {kept}(FROM {source} TO {target}{declared})")
    execute(f"COPY {kept} FROM ({pattern} RETURN {begin}.{source_key}, b.{target_key}{columns})")
    execute(f"DROP TABLE {table}")
    execute(f"ALTER TABLE {kept} RENAME TO {table}")
