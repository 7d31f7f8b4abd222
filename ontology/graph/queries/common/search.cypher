// Labels by a part of their name or key, the closest match first.
MATCH (l:Label {version: $version})
WHERE l.folded CONTAINS $folded OR l.key CONTAINS $text
RETURN l.idx AS idx, l.key AS key, l.name AS name, l.depth AS depth, l.leaf AS leaf,
       CASE WHEN l.folded = $folded OR l.key = $text THEN 0
            WHEN l.folded STARTS WITH $folded OR l.key STARTS WITH $text THEN 1
            ELSE 2 END AS closeness
ORDER BY closeness, idx
LIMIT $limit
