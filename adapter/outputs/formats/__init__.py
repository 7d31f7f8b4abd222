"""Readers of dense outputs, one module for each kind of file; `OutputFile` chooses the reader."""
