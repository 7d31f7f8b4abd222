// Ontologies, their versions, and labels with IS_A edges.
CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (m:_Migration) REQUIRE m.version IS UNIQUE;
CREATE CONSTRAINT ontology_name IF NOT EXISTS FOR (o:Ontology) REQUIRE o.name IS UNIQUE;
CREATE CONSTRAINT version_digest IF NOT EXISTS FOR (v:Version) REQUIRE v.digest IS UNIQUE;
CREATE CONSTRAINT label_uid IF NOT EXISTS FOR (l:Label) REQUIRE l.uid IS UNIQUE;
CREATE INDEX label_version IF NOT EXISTS FOR (l:Label) ON (l.version);
CREATE INDEX label_key IF NOT EXISTS FOR (l:Label) ON (l.key);
CALL db.awaitIndexes(600);
