// Number of edges up from labels $start to $stop (exclusive) of a version.
MATCH (c:Label {version: $version})-[e:IS_A]->(:Label)
WHERE c.idx >= $start AND c.idx < $stop
RETURN count(e) AS edges
