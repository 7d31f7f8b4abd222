// Sets the definitions of a batch of labels, and whether they are deprecated, unless somebody else does so meanwhile.
MATCH (v:Version {digest: $version, annotations: $mark})
UNWIND $rows AS row
MATCH (l:Label {uid: row.uid})
SET l.definition = row.definition, l.deprecated = row.deprecated
RETURN count(*) AS loaded
