"""Say: the Firebase realtime protocol, version 5, without any I/O. Pure."""
