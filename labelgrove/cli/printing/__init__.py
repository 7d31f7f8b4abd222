"""The output of commands: text, tables, CSV, JSON, files and progress."""
