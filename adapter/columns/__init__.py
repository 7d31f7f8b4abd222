"""Match the columns of a model with labels."""
