// Removes the labels of a version.
MATCH (l:Label {version: $version})
WITH l LIMIT $limit
DETACH DELETE l
RETURN count(*) AS removed
