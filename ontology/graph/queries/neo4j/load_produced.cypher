// Joins a job to its result while the version is there.
MATCH (v:Version {digest: $version, state: 'ready'})
MATCH (j:Job {id: $job})
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle)
WHERE r.id = $id
MERGE (j)-[:PRODUCED]->(r)
RETURN count(*) AS loaded
