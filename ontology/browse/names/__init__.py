"""Names of labels as sorted tables of texts, and search in them: ranked, and with suggestions."""
