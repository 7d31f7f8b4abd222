// Labels directly below a label.
MATCH (c:Label)-[e:IS_A]->(l:Label {uid: $uid})
RETURN c.idx AS idx, c.key AS key, c.name AS name, c.depth AS depth, c.leaf AS leaf,
       e.weight AS weight, e.rank AS rank
ORDER BY idx
