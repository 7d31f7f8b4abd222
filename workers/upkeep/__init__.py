"""Retention of jobs and artifacts, backup and restore."""
