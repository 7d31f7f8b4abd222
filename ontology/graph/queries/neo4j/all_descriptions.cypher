// The definition of every label of a version, and whether the label is deprecated; users may have set other values.
MATCH (l:Label {version: $version})
RETURN toStringOrNull(l.uid) AS uid, toStringOrNull(l.definition) AS definition,
       CASE WHEN l.deprecated IN [true, false] THEN l.deprecated ELSE null END AS deprecated
