"""Run Cypher that users write: read-only, limited, and in a separate process."""
