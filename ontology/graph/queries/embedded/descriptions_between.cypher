// Definitions of labels $start to $stop (exclusive) of a version, and whether the labels are deprecated.
MATCH (l:Label {version: $version})
WHERE l.idx >= $start AND l.idx < $stop
RETURN l.uid AS uid, l.definition AS definition, l.deprecated AS deprecated
