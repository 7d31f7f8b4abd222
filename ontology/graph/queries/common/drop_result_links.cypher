// Removes the relationships from results to labels.
MATCH (r:Locus|Cover|Selection)-[e:OBSERVES|REACHES|INCLUDES|PICKS]->(l:Label)
WHERE r.id IN $ids AND r.version = ''
WITH e LIMIT $limit
DELETE e
RETURN count(*) AS removed
