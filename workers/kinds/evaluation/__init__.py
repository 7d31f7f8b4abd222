"""The kind `evaluation`: the request with its files, and what is computed."""
