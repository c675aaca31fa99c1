"""The HTTP and WebSocket shell around the database."""
