"""The graph in a file of this machine, without a server."""
