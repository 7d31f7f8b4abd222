// Removes a version whose labels are gone.
MATCH (v:Version {digest: $version})
DETACH DELETE v
