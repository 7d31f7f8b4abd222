"""Store bytes and check them when they are read: artifacts, canonical files, faults of disks."""
