"""Proofs in whole numbers that a label can be best, can be the only best label, or can never be best."""
