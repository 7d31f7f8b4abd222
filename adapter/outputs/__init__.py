"""What a model puts out and what the truth is, read and checked."""
