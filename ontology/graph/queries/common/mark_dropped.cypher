// Separates results from their version; a result without a version is being dropped, and is found until it is gone.
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation)
WHERE r.id IN $ids AND r.version <> ''
WITH r LIMIT $limit
SET r.version = ''
RETURN count(*) AS removed
