// Removes the nodes of results.
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation)
WHERE r.id IN $ids AND r.version = ''
WITH r LIMIT $limit
DETACH DELETE r
RETURN count(*) AS removed
