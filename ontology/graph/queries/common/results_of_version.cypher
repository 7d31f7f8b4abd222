// Every result of a version, complete or not.
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation)
WHERE r.version = $version
RETURN r.id AS id
ORDER BY id
