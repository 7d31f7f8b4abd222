// Removes the definitions of a version, and declares no label of it deprecated.
MATCH (l:Label {version: $version})
WHERE l.definition IS NOT NULL OR l.deprecated
SET l.definition = NULL, l.deprecated = false
