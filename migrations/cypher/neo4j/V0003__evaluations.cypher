// Evaluations of models, on the version that they were answered with.
CREATE CONSTRAINT evaluation_id IF NOT EXISTS FOR (n:Evaluation) REQUIRE n.id IS UNIQUE;
CREATE INDEX evaluation_model IF NOT EXISTS FOR (n:Evaluation) ON (n.model);
CALL db.awaitIndexes(600);
