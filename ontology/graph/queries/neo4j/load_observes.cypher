// Loads a batch of labels that a locus observes.
UNWIND $rows AS row
MATCH (r:Locus {id: row.source})
MATCH (l:Label {uid: row.target})
MERGE (r)-[e:OBSERVES]->(l)
RETURN count(*) AS loaded
