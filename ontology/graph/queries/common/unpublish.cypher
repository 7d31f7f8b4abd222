// Removes the current version of an ontology.
MATCH (o:Ontology {name: $name})-[c:CURRENT]->(v:Version)
DELETE c
