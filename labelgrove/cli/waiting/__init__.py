"""Long work that a command waits for: jobs, and what Ctrl-C leaves."""
