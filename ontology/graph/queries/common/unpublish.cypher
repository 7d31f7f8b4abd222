// Takes the current version from an ontology.
MATCH (o:Ontology {name: $name})-[c:CURRENT]->(v:Version)
DELETE c
