"""Store artifacts as files, check them when they are read, and translate faults of disks and services."""
