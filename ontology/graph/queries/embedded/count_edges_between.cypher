// How many edges lead up from labels of a version from $start to $stop (exclusive).
MATCH (c:Label {version: $version})-[e:IS_A]->(:Label)
WHERE c.idx >= $start AND c.idx < $stop
RETURN count(e) AS edges
