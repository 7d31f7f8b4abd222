// Jobs that produced a result, unless it is being dropped.
MATCH (j:Job)-[:PRODUCED]->(r)
WHERE r.id = $id AND r.version <> ''
RETURN j.id AS job
ORDER BY job
