"""Processes that the service starts: the worker beside it, and readers of uploads."""
