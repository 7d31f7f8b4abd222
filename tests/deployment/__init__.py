"""Render the manifests of Kubernetes and the units of systemd from docker-compose.yml.

``python -m tests.deployment`` writes deploy/kubernetes and deploy/systemd; a test compares both with the
Compose file. What a process is started with stands in the Compose file alone: its command line, environment,
limits and time to end. What only Kubernetes or systemd has stands in the module that renders it.
"""
