"""What stays open between requests, such as versions, marked results and histories."""
