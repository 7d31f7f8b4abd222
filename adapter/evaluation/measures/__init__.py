"""How far answers are from the truth, and how far confidence is from accuracy."""
