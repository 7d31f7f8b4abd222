"""An adapter as a model of Triton Inference Server: the files of its repository, and what the server runs."""
