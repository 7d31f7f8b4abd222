"""Find the Fréchet mean in frameworks that cannot run our compiled kernels."""
