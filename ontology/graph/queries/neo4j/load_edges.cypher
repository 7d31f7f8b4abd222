// Loads a batch of edges between existing labels.
UNWIND $rows AS row
MATCH (c:Label {uid: row.child})
MATCH (p:Label {uid: row.parent})
MERGE (c)-[e:IS_A]->(p)
ON CREATE SET e.weight = row.weight, e.rank = row.rank
