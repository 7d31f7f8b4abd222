// Edges that lead up from the given labels, their ends by index.
UNWIND $uids AS uid
MATCH (c:Label {uid: uid})-[:IS_A]->(p:Label)
RETURN c.idx AS child, p.idx AS parent
ORDER BY child, parent
