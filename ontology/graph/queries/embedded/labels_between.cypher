// Labels $start to $stop (exclusive) of a version.
MATCH (l:Label {version: $version})
WHERE l.idx >= $start AND l.idx < $stop
RETURN l.idx AS idx, l.key AS key, coalesce(l.name, l.key) AS name
ORDER BY idx
