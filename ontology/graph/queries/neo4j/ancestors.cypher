// Labels above one, with the fewest edges up to each.
MATCH p = (l:Label {uid: $uid})-[:IS_A*1..]->(a:Label)
WITH a, min(length(p)) AS hops
RETURN a.idx AS idx, a.key AS key, a.name AS name, a.depth AS depth, a.leaf AS leaf, hops
ORDER BY idx
