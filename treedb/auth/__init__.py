"""Who is asking: credentials become an Auth."""
