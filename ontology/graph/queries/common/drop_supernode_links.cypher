// Removes the relationships that start at the supernodes of summaries.
MATCH (r:Summary)-[:HAS]->(s:Supernode)-[e:CONTAINS|ADJACENT]->()
WHERE r.id IN $ids AND r.version = ''
WITH e LIMIT $limit
DELETE e
RETURN count(*) AS removed
