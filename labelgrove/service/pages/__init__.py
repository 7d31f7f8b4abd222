"""Pages of the explorer: one module for each subject, drawn with the templates of the service."""
