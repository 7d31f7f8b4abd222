// Declares a version complete.
MATCH (v:Version {digest: $version})
SET v.state = 'ready'
