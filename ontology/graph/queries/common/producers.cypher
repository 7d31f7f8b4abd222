// Jobs that produced a result.
MATCH (j:Job)-[:PRODUCED]->(r)
WHERE r.id = $id
RETURN j.id AS job
ORDER BY job
