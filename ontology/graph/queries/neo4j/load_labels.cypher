// Loads a batch of labels; existing labels stay as they are.
UNWIND $rows AS row
MERGE (l:Label {uid: row.uid})
ON CREATE SET l.ontology = row.ontology, l.version = row.version, l.idx = row.idx, l.key = row.key,
              l.name = row.name, l.folded = row.folded, l.depth = row.depth, l.leaf = row.leaf,
              l.deprecated = false
