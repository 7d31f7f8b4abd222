// Declares a version incomplete before its names and labels are removed.
MATCH (v:Version {digest: $version})
WHERE v.state = 'ready' OR v.annotations <> ''
WITH v LIMIT $limit
SET v.state = 'loading', v.annotations = ''
RETURN count(*) AS removed
