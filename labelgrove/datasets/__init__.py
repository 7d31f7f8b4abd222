"""Load labels, features and predictions for the quickstart and the experiments."""
