"""Turn the requests of people into jobs and units."""
