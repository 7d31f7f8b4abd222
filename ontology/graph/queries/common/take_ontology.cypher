// Creates the ontology if it is new, and locks it.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.fence = -1
ON MATCH SET o.fence = o.fence
