"""What is kept, forgotten, backed up and restored."""
