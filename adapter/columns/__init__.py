"""Which label each column of a model stands for."""
