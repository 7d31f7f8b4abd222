// Links an evaluation to its version.
UNWIND $rows AS row
MATCH (r:Evaluation {id: row.source})
MATCH (v:Version {digest: row.target})
MERGE (r)-[:OF]->(v)
RETURN count(*) AS loaded
