"""How bytes become lines and back: file descriptors, child processes, Unix sockets, memory."""
