"""Statements that must not run, one for each rule of the guard.

Each row names the rule that is there because of it, the statement, and the other rules that refuse it too:
a clause such as ``DETACH DELETE`` cannot be written with one forbidden word alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from labelgrove.ontology.graph.userqueries.guard import MAX_CHARACTERS


@dataclass(frozen=True)
class Hostile:
    rule: str
    statement: str
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.rule


HOSTILE = [
    # ---- the text itself
    Hostile("empty", " \n /* MATCH (n) RETURN n */ // nothing"),
    Hostile("too-long", "RETURN " + "1+" * MAX_CHARACTERS + "1"),
    Hostile("nul", "MATCH (n:Label) RETURN n\0"),
    Hostile("control-character", "MATCH (n:Label)\x0b RETURN n"),
    Hostile("invisible-character", "MATCH (n:Label) // \u2028 RETURN n\nRETURN n"),
    Hostile("lone-surrogate", "RETURN '\ud800'"),
    Hostile("unicode-escape", "MATCH (n:Label) \\u0053ET n.name = 'gone' RETURN n"),
    Hostile("single-quote", "MATCH (n:Label) WHERE n.name = 'a RETURN n", ("no-return",)),
    Hostile("double-quote", 'MATCH (n:Label) RETURN n.name + "a'),
    Hostile("backtick", "MATCH (n:Label) RETURN n AS `x"),
    Hostile("comment", "MATCH (n:Label) RETURN n /* DELETE n"),
    Hostile("brackets", "MATCH (n:Label) RETURN (n"),
    # ---- its shape
    Hostile("second-statement", "RETURN 1; RETURN 2"),
    Hostile("first-keyword", "ANALYZE RETURN 1"),
    Hostile("no-return", "MATCH (n:Label)"),
    Hostile("disguised-keyword", "MATCH (n:Label) \uff33\uff25\uff34 n.name = 'gone' RETURN n"),
    # ---- clauses that write
    Hostile("keyword-create", "MATCH (n:Label) CREATE (n)-[:IS_A]->(:Label {uid: 'evil'}) RETURN n"),
    Hostile("keyword-insert", "MATCH (n:Label) INSERT (:Label {uid: 'evil'}) RETURN n"),
    Hostile("keyword-merge", "UNWIND [1] AS x MERGE (n:Label {uid: 'evil'}) RETURN n"),
    Hostile("keyword-set", "MATCH (n:Label) SET n.name = 'gone' RETURN n"),
    Hostile("keyword-remove", "MATCH (n:Label) REMOVE n.name RETURN n"),
    Hostile("keyword-delete", "MATCH (:Label)-[e:IS_A]->() DELETE e RETURN 1"),
    Hostile("keyword-detach", "MATCH (n:Label) DETACH DELETE n RETURN 1", ("keyword-delete",)),
    Hostile("keyword-nodetach", "MATCH (n:Label) NODETACH DELETE n RETURN 1", ("keyword-delete",)),
    Hostile(
        "keyword-foreach", "MATCH (n:Label) FOREACH (x IN [1] | SET n.depth = x) RETURN n", ("keyword-set",)
    ),
    # ---- files, addresses, other databases
    Hostile("keyword-load", "LOAD FROM '/etc/passwd' (header=false, file_format='csv') RETURN *"),
    Hostile(
        "keyword-copy",
        "COPY (MATCH (n:Label) RETURN n.key) TO '/tmp/labelgrove-stolen.csv'",
    ),
    Hostile("keyword-export", "EXPORT DATABASE '/tmp/labelgrove-stolen'", ("no-return",)),
    Hostile("keyword-import", "IMPORT DATABASE '/tmp/labelgrove-planted'", ("no-return",)),
    Hostile("keyword-attach", "ATTACH '/tmp/other.lbug' AS other (dbtype lbug)", ("no-return",)),
    Hostile("keyword-use", "USE system RETURN 1"),
    Hostile("keyword-install", "INSTALL httpfs", ("no-return",)),
    Hostile("keyword-uninstall", "UNINSTALL httpfs", ("no-return",)),
    Hostile("keyword-update", "UPDATE httpfs", ("no-return",)),
    Hostile("keyword-checkpoint", "CHECKPOINT", ("no-return",)),
    # ---- procedures, subqueries, settings
    Hostile(
        "keyword-call", "CALL dbms.listConfig() YIELD name, value RETURN name, value", ("functions-dbms",)
    ),
    Hostile(
        "keyword-transactions",
        "MATCH (n:Label) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10 ROWS RETURN 1",
        ("keyword-call", "keyword-delete", "keyword-detach"),
    ),
    Hostile("keyword-project", "PROJECT GRAPH pg (Label) RETURN 1"),
    Hostile("keyword-macro", "CREATE MACRO f(x) AS x", ("no-return", "keyword-create")),
    # ---- schema and administration
    Hostile("keyword-alter", "ALTER TABLE Label DROP name", ("no-return", "keyword-drop")),
    Hostile("keyword-drop", "DROP TABLE IS_A", ("no-return",)),
    Hostile("keyword-rename", "RENAME USER neo4j TO evil", ("no-return",)),
    Hostile("keyword-comment", "COMMENT ON TABLE Label IS 'mine'", ("no-return",)),
    Hostile("keyword-grant", "GRANT ROLE admin TO evil", ("no-return",)),
    Hostile("keyword-deny", "DENY MATCH {*} ON GRAPH * TO PUBLIC", ("no-return",)),
    Hostile("keyword-revoke", "REVOKE ROLE admin FROM neo4j", ("no-return",)),
    Hostile("keyword-show", "SHOW USERS YIELD user RETURN user"),
    Hostile(
        "keyword-terminate",
        "TERMINATE TRANSACTIONS 'neo4j-transaction-1'",
        ("no-return", "keyword-transactions"),
    ),
    Hostile("keyword-start", "START DATABASE neo4j", ("no-return",)),
    Hostile("keyword-stop", "STOP DATABASE neo4j", ("no-return",)),
    Hostile("keyword-enable", "ENABLE SERVER 'x'", ("no-return",)),
    Hostile("keyword-deallocate", "DEALLOCATE DATABASES FROM SERVER 'x'", ("no-return",)),
    Hostile("keyword-reallocate", "REALLOCATE DATABASES", ("no-return",)),
    Hostile("keyword-dryrun", "DRYRUN REALLOCATE DATABASES", ("no-return", "keyword-reallocate")),
    # ---- transactions and how a statement runs
    Hostile("keyword-begin", "BEGIN TRANSACTION", ("no-return",)),
    Hostile("keyword-commit", "COMMIT", ("no-return",)),
    Hostile("keyword-rollback", "ROLLBACK", ("no-return",)),
    Hostile("keyword-cypher", "CYPHER runtime=slotted MATCH (n:Label) RETURN n"),
    Hostile("keyword-explain", "EXPLAIN MATCH (n:Label) RETURN n"),
    Hostile("keyword-profile", "PROFILE MATCH (n:Label) RETURN n"),
    # ---- functions that do more than compute
    Hostile("functions-apoc", "RETURN apoc.util.sleep(1)"),
    Hostile("functions-db", "MATCH (n:Label) RETURN db.nameFromElementId('x')"),
    Hostile("functions-dbms", "RETURN dbms . `queryJmx` ('*:*')"),
    Hostile("functions-gds", "RETURN gds.graph.exists('g')"),
    Hostile("functions-genai", "RETURN genai.vector.encode('secret', 'OpenAI', {token: 't'})"),
    Hostile("functions-elsewhere", "RETURN com.example.shell('id')"),
    Hostile("function-load_extension", "RETURN load_extension('/tmp/evil.so')"),
    Hostile("function-file", "RETURN file()"),
    Hostile("function-current_setting", "RETURN current_setting('threads')"),
    Hostile("function-setseed", "RETURN setseed(0.5)"),
    Hostile("function-nextval", "RETURN nextval('sequence')"),
    Hostile("function-currval", "RETURN currval('sequence')"),
]

HARMLESS = [
    "MATCH (l:Label) RETURN l.key;",
    "match (l:Label) where l.set = 1 return l.create, l . delete",
    "MATCH (n:Set)-[:USE]->(m:Load) RETURN n",
    "RETURN {create: 1, set: 2} AS m",
    "MATCH (l:Label) WHERE l.name = 'CREATE; DROP' RETURN l.name AS `DELETE`",
    "RETURN \"it's; SET\" AS x, 'say \"MERGE\"' AS y, 'don\\'t CALL' AS z",
    "/* CREATE */ MATCH (n) // DELETE\nRETURN n",
    "WITH 1 AS x RETURN $set, x",
    "OPTIONAL MATCH (n:Label) RETURN count(n), datetime.truncate('day', datetime()) AS d",
    "UNWIND [1, 2] AS x RETURN 1.5 + x, .5 * x, [x, x][0..1]",
    "MATCH (l:Label)-[:IS_A*1..5]->(r) RETURN point.distance(l.a, r.b)",
    "MATCH (straße:Label) RETURN straße.größe",
    "MATCH (l:Label {uid: $`a b`}) RETURN `SET`.x, `LOAD`(1)",
]
