// Every result that a job has produced, of one version unless $version is null.
MATCH (j:Job)-[:PRODUCED]->(r)
WHERE r.version = coalesce($version, r.version) AND r.version <> ''
RETURN j.id AS job, j.kind AS kind, labels(r)[0] AS label, r.id AS id, r.version AS version
ORDER BY job, id
