// Removes a version whose labels have been removed.
MATCH (v:Version {digest: $version})
WITH v LIMIT $limit
DETACH DELETE v
RETURN count(*) AS removed
