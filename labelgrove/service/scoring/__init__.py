"""Score outputs of models: adapters that are open, threads that score, and tensors of the protocol."""
