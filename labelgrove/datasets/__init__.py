"""Where labels, features and predictions come from: what quickstart and experiments run on."""
