// Removes a batch of names by their uids, unless somebody else replaces the annotations meanwhile.
MATCH (v:Version {digest: $version, annotations: $mark})
UNWIND $rows AS row
OPTIONAL MATCH (n:Name {uid: row.uid})
DETACH DELETE n
RETURN count(*) AS loaded
