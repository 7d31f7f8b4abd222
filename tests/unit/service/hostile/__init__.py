"""Requests that break a rule of the service, sent to a server that runs."""
