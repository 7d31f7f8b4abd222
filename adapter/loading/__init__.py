"""Find a bundle by its address, keep local copies of its file, and check that a copy is undamaged."""
