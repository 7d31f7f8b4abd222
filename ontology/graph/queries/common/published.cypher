// The current version of an ontology and the fence with which it was published.
MATCH (o:Ontology {name: $name})
OPTIONAL MATCH (o)-[:CURRENT]->(v:Version)
RETURN v.digest AS digest, o.fence AS fence
