// Loads a batch of labels that a locus reaches.
UNWIND $rows AS row
MATCH (r:Locus {id: row.source})
MATCH (l:Label {uid: row.target})
MERGE (r)-[e:REACHES]->(l)
ON CREATE SET e.unique = row.unique
RETURN count(*) AS loaded
