"""Recognize a file's format from its name and its start."""
