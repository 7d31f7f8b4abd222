// Removes jobs that have produced nothing that is still there.
MATCH (j:Job)
WHERE NOT EXISTS { MATCH (j)-[:PRODUCED]->() }
WITH j LIMIT $limit
DELETE j
RETURN count(*) AS removed
