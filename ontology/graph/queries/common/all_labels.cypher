// Every label of a version.
MATCH (l:Label {version: $version})
RETURN l.idx AS idx, l.key AS key, coalesce(l.name, l.key) AS name
