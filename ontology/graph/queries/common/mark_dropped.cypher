// Takes results from their version; what is of none is being dropped, and is found until all of it is gone.
MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation)
WHERE r.id IN $ids AND r.version <> ''
WITH r LIMIT $limit
SET r.version = ''
RETURN count(*) AS removed
