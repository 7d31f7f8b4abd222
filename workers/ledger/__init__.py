"""Jobs and their units as SQL rows: who works on which unit, and which changes of state are legal."""
