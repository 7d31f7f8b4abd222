// Removes the relationships from jobs to their results.
MATCH (j:Job)-[p:PRODUCED]->(r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation)
WHERE r.id IN $ids AND r.version = ''
WITH p LIMIT $limit
DELETE p
RETURN count(*) AS removed
