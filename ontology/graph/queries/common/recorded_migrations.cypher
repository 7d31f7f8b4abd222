// Migrations that the graph has been through.
MATCH (m:_Migration)
RETURN m.version AS version, m.checksum AS checksum
ORDER BY version
