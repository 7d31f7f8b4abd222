// Edges up from one label, with the labels above; for a list of labels the engine would read all labels.
MATCH (c:Label {uid: $uid})-[e:IS_A]->(p:Label)
RETURN c.uid AS below, p.uid AS uid, p.idx AS idx, p.key AS key, p.name AS name, p.depth AS depth, p.leaf AS leaf,
       coalesce(e.weight, 1.0) AS weight
