"""What commands are given: the arguments and options that several share, and how they are read."""
