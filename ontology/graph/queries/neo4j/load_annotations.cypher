// Records which annotations a version shows, unless somebody else replaces them meanwhile.
MATCH (v:Version {digest: $version})
WHERE v.annotations IN [$mark, $annotations]
SET v.annotations = $annotations
RETURN count(*) AS versions
