// Removes jobs without remaining results.
MATCH (j:Job)
WHERE NOT EXISTS { MATCH (j)-[:PRODUCED]->() }
WITH j LIMIT $limit
DELETE j
RETURN count(*) AS removed
