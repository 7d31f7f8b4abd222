// One label by its uid.
MATCH (l:Label {uid: $uid})
RETURN l.idx AS idx, l.key AS key, l.name AS name, l.depth AS depth, l.leaf AS leaf
