"""Who hears: views of places, their listeners, and the hub that finds them. Pure."""
