// Links a job to its result if the version exists.
MATCH (v:Version {digest: $version, state: 'ready'})
MATCH (j:Job {id: $job})
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation)
WHERE r.id = $id AND r.version = $version
MERGE (j)-[:PRODUCED]->(r)
RETURN count(*) AS loaded
