"""Transports of JSON lines: file descriptors, child processes, Unix sockets, memory."""
