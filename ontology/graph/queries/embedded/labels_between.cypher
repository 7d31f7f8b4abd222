// Labels of a version from $start to $stop (exclusive).
MATCH (l:Label {version: $version})
WHERE l.idx >= $start AND l.idx < $stop
RETURN l.idx AS idx, l.key AS key, coalesce(l.name, l.key) AS name
ORDER BY idx
