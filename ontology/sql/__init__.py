"""The SQL database: the record of which ontologies, versions, artifacts and bundles exist."""
