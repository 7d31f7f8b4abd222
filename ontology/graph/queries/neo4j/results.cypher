// Every result that a job has produced.
MATCH (j:Job)-[:PRODUCED]->(r)
RETURN j.id AS job, j.kind AS kind, labels(r)[0] AS label, r.id AS id, r.version AS version
ORDER BY job, id
