// Loads a batch of labels that a selection picks.
UNWIND $rows AS row
MATCH (r:Selection {id: row.source})
MATCH (l:Label {uid: row.target})
MERGE (r)-[e:PICKS]->(l)
ON CREATE SET e.round = row.round, e.gain = row.gain
RETURN count(*) AS loaded
