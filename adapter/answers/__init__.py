"""From weights to answers: candidates, rankings, back-off, sets and explanations."""
