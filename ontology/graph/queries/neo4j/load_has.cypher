// Loads a batch of supernodes of a summary.
UNWIND $rows AS row
MATCH (r:Summary {id: row.source})
MERGE (s:Supernode {id: row.target})
ON CREATE SET s.version = row.version, s.size = row.size
MERGE (r)-[:HAS]->(s)
RETURN count(*) AS loaded
