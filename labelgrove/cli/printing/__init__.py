"""What commands print and write: text, tables, CSV, JSON, files and progress."""
