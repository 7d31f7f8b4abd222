"""Experiments on models that others trained; each module but `onmodels` exports ``EXPERIMENT``."""
