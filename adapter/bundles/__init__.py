"""What a model server loads, and whether it is sound."""
