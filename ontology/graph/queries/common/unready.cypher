// Declares a version incomplete that is about to lose labels.
MATCH (v:Version {digest: $version, state: 'ready'})
WITH v LIMIT $limit
SET v.state = 'loading'
RETURN count(*) AS removed
