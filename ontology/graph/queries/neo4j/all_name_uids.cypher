// The uid of every name of a version, and whether the name belongs to a label; names drawn by hand may lack a uid.
MATCH (n:Name {version: $version})
RETURN toStringOrNull(n.uid) AS uid, EXISTS { MATCH (n)-[:NAMES]->(:Label) } AS belongs
