// Removes an ontology's name; its versions stay.
MATCH (o:Ontology {name: $name})
DETACH DELETE o
