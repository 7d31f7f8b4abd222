"""Cypher that users write: read-only, limited, in a process of its own."""
