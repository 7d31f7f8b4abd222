// Makes a version the current one of an ontology.
MATCH (o:Ontology {name: $name})
MATCH (v:Version {digest: $version})
SET o.fence = $fence
CREATE (o)-[:CURRENT]->(v)
