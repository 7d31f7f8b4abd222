// Edges up from labels $start to $stop (exclusive) of a version, with their ends by idx.
MATCH (c:Label {version: $version})-[e:IS_A]->(p:Label)
WHERE c.idx >= $start AND c.idx < $stop
RETURN c.idx AS child, p.idx AS parent, coalesce(e.weight, 1.0) AS weight, coalesce(e.rank, 0) AS rank
