"""The kind `locus`: the request, what its units compute, and the file of the result."""
