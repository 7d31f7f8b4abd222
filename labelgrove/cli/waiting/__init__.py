"""Wait for jobs and other long work, and handle Ctrl-C meanwhile."""
