// Number of edges of a version.
MATCH (c:Label {version: $version})-[e:IS_A]->(p:Label)
RETURN count(e) AS edges
