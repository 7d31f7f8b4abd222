// Removes the supernodes of summaries.
MATCH (r:Summary)-[:HAS]->(s:Supernode)
WHERE r.id IN $ids AND r.version = ''
WITH s LIMIT $limit
DETACH DELETE s
RETURN count(*) AS removed
