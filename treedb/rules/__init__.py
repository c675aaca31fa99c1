"""Who may: the security-rules language, from its text to a verdict on a read or a write. Pure."""
