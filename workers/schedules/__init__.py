"""What is due, who asks for it, and what is asked for again."""
