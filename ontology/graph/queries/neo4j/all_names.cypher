// Every name of a version, with the label that it belongs to.
MATCH (n:Name {version: $version})
OPTIONAL MATCH (n)-[:NAMES]->(l:Label)
RETURN n.uid AS uid, n.version AS version, n.text AS text, n.folded AS folded, n.language AS language,
       n.kind AS kind, coalesce(l.uid, '') AS label
