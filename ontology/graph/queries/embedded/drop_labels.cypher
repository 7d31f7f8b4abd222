// Removes the labels of a version.
MATCH (l:Label {version: $version})
DETACH DELETE l
