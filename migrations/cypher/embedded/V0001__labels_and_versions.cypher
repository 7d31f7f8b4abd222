// Ontologies, their versions, and labels with IS_A edges.
CREATE NODE TABLE _Migration(version STRING PRIMARY KEY, name STRING, checksum STRING);
CREATE NODE TABLE Ontology(name STRING PRIMARY KEY, fence INT64);
CREATE NODE TABLE Version(
    digest STRING PRIMARY KEY, ontology STRING, n_labels INT64, n_edges INT64, state STRING, layout STRING,
    directed BOOLEAN
);
CREATE NODE TABLE Label(
    uid STRING PRIMARY KEY, ontology STRING, version STRING, idx INT64, key STRING, name STRING, folded STRING,
    depth INT64, leaf BOOLEAN
);
CREATE REL TABLE CURRENT(FROM Ontology TO Version);
CREATE REL TABLE IS_A(FROM Label TO Label, weight DOUBLE, rank INT64);
