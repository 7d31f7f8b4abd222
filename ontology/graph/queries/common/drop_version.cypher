// Removes a version whose labels are gone.
MATCH (v:Version {digest: $version})
WITH v LIMIT $limit
DETACH DELETE v
RETURN count(*) AS removed
