// Removes some labels of a version; repeated until none is left.
MATCH (l:Label {version: $version})
WITH l LIMIT $limit
DETACH DELETE l
RETURN count(*) AS removed
