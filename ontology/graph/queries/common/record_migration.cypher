// Records a migration that has been applied.
MERGE (m:_Migration {version: $version})
ON CREATE SET m.name = $name, m.checksum = $checksum
