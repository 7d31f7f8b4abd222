// Number of labels of a version.
MATCH (l:Label {version: $version})
RETURN count(l) AS labels
