// Declares a version incomplete before its labels are removed.
MATCH (v:Version {digest: $version, state: 'ready'})
WITH v LIMIT $limit
SET v.state = 'loading'
RETURN count(*) AS removed
