"""Where the bytes are, and whether they still are the bytes: artifacts, canonical files, faults of disks."""
