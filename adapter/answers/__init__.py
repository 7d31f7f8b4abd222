"""Turn weights into answers: candidates, rankings, back-off, sets and explanations."""
