// Loads a batch of edges between supernodes.
UNWIND $rows AS row
MATCH (a:Supernode {id: row.source})
MATCH (b:Supernode {id: row.target})
MERGE (a)-[e:ADJACENT]->(b)
ON CREATE SET e.weight = row.weight
RETURN count(*) AS loaded
