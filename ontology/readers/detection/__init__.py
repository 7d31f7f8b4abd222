"""Which format a file is in, told from its name and its start."""
