"""How a new version becomes the current one, whatever crashes: ingest, loading, snapshots, export."""
