"""treedb: a self-hosted, durable, realtime JSON tree database."""

__version__ = "0.1.0"
