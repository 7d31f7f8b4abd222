// Labels above one, with the fewest edges up to each.
MATCH (l:Label {uid: $uid})-[up:IS_A* SHORTEST 1..100000]->(a:Label)
RETURN a.idx AS idx, a.key AS key, a.name AS name, a.depth AS depth, a.leaf AS leaf, length(up) AS hops
ORDER BY idx
