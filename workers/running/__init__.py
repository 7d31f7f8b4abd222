"""One unit after the other: claim, compute, publish, commit, and sweep what was lost."""
