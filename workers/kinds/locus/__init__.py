"""The kind `locus`: the request, the computations of its units, and the file of the result."""
