"""Where a bundle comes from, which copy of it is nearest, and whether that is still good."""
