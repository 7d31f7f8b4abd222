// Loads a batch of names of labels, unless somebody else replaces the annotations meanwhile.
MATCH (v:Version {digest: $version, annotations: $mark})
UNWIND $rows AS row
MATCH (l:Label {uid: row.label})
MERGE (n:Name {uid: row.uid})
ON CREATE SET n.version = row.version, n.text = row.text, n.folded = row.folded, n.language = row.language,
              n.kind = row.kind
MERGE (n)-[:NAMES]->(l)
RETURN count(*) AS loaded
