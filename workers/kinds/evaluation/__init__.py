"""The kind `evaluation`: the request with its files, and the computation."""
