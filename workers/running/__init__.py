"""Run one unit after the other: claim, compute, publish and commit it; sweep up lost units."""
