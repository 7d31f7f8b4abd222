"""The decision for frameworks that cannot run our compiled kernels."""
