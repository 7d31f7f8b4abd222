// Edges up from the given labels, with the labels above.
UNWIND $uids AS below
MATCH (c:Label {uid: below})-[e:IS_A]->(p:Label)
RETURN below, p.uid AS uid, p.idx AS idx, p.key AS key, p.name AS name, p.depth AS depth, p.leaf AS leaf,
       coalesce(e.weight, 1.0) AS weight
