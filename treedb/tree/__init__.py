"""What: JSON values at places, and how they change. Pure."""
