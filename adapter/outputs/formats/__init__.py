"""Readers of dense outputs, one module for each kind of file."""
