"""What is due, and who asks for it."""
