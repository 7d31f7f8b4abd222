"""Jobs and their units as SQL rows: who works on what, and which move is legal."""
