"""What samples can tell: intervals, differences between rules, and the verdict."""
