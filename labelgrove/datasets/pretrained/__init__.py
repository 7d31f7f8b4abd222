"""Models that others trained, their label hierarchies, and samples to test them on."""
