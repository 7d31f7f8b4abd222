// Every edge of a version, with its ends by key; edges drawn by hand may lack properties.
MATCH (c:Label {version: $version})-[e:IS_A]->(p:Label)
RETURN c.key AS child, p.key AS parent, coalesce(e.weight, 1.0) AS weight, coalesce(e.rank, 0) AS rank
