"""Arguments and options that several commands share, and the functions that read them."""
