"""Read and check the outputs of a model, from memory or from files, and read files of true labels."""
