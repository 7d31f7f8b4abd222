// Records which annotations a version shows.
MATCH (v:Version {digest: $version})
SET v.annotations = $annotations
RETURN count(*) AS versions
