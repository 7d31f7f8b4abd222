// Every result of a version, whole or not.
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle)
WHERE r.version = $version
RETURN r.id AS id
ORDER BY id
