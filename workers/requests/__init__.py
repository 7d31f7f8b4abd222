"""From what people ask for to a job and its units."""
