"""Schedules, their due times, and the jobs that they request."""
