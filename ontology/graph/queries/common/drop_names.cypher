// Removes the names of the labels of a version.
MATCH (n:Name {version: $version})
WITH n LIMIT $limit
DETACH DELETE n
RETURN count(*) AS removed
