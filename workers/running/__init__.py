"""Run units: claim, compute, publish and commit each one; free the units of lost workers."""
