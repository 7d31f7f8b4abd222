// Migrations that have been applied to the graph.
MATCH (m:_Migration)
RETURN m.version AS version, m.checksum AS checksum
ORDER BY version
