// Every label of a version; labels drawn by hand may lack a name.
MATCH (l:Label {version: $version})
RETURN l.idx AS idx, l.key AS key, coalesce(l.name, l.key) AS name
