// Definitions of labels, and all names of labels; a version records which annotations it shows.
CREATE CONSTRAINT name_uid IF NOT EXISTS FOR (n:Name) REQUIRE n.uid IS UNIQUE;
CREATE INDEX name_version IF NOT EXISTS FOR (n:Name) ON (n.version);
CREATE INDEX name_folded IF NOT EXISTS FOR (n:Name) ON (n.folded);
MATCH (v:Version) WHERE v.annotations IS NULL SET v.annotations = '';
MATCH (l:Label) WHERE l.deprecated IS NULL CALL (l) { SET l.deprecated = false } IN TRANSACTIONS OF 10000 ROWS;
CALL db.awaitIndexes(600);
