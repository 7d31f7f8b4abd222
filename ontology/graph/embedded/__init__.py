"""The graph in a file on this machine, without a server."""
