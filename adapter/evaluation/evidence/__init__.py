"""Evidence in the samples: intervals, differences between rules, and the verdict."""
