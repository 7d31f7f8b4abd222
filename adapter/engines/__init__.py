"""The decision for frameworks that run none of our kernels."""
