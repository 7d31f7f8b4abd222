"""Who may: identities, sessions and web tokens, the guards before every request, and the audit log."""
