// Ontologies that have a given version as their current one.
MATCH (o:Ontology)-[:CURRENT]->(v:Version {digest: $version})
RETURN o.name AS name
ORDER BY name
