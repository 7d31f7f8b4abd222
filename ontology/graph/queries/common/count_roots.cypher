// Number of labels of a hierarchy without a parent.
MATCH (l:Label {version: $version})
WHERE l.depth = 0
RETURN count(l) AS roots
