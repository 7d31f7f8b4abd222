"""The SQL database: which ontologies, versions, artifacts and bundles exist."""
