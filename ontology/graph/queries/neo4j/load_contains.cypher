// Loads a batch of labels that supernodes contain.
UNWIND $rows AS row
MATCH (s:Supernode {id: row.source})
MATCH (l:Label {uid: row.target})
MERGE (s)-[:CONTAINS]->(l)
RETURN count(*) AS loaded
