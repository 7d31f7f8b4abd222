"""Jobs and their units as SQL rows: who works on which unit, and which moves between states are legal."""
