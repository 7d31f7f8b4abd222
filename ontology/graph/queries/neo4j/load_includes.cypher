// Loads a batch of labels that a cover includes.
UNWIND $rows AS row
MATCH (r:Cover {id: row.source})
MATCH (l:Label {uid: row.target})
MERGE (r)-[e:INCLUDES]->(l)
ON CREATE SET e.rank = row.rank
RETURN count(*) AS loaded
