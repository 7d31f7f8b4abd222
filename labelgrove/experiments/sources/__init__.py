"""Where labels, features and predictions come from."""
