"""Who is a point, who may be an answer, and how far apart labels are."""
