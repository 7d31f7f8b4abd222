"""Structure without names: arrays of parents and children, the primary preorder, ways through both."""
