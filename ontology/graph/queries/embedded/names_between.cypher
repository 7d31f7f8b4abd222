// Names of labels $start to $stop (exclusive) of a version, with the label that each belongs to.
MATCH (l:Label {version: $version})<-[:NAMES]-(n:Name)
WHERE l.idx >= $start AND l.idx < $stop
RETURN n.uid AS uid, n.version AS version, n.text AS text, n.folded AS folded, n.language AS language,
       n.kind AS kind, l.uid AS label
