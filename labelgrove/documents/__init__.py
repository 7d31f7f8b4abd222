"""Answers as plain documents: the same for ``--json`` of the command line and for the HTTP service."""
