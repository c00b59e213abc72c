"""The daemon: one process per user, with the bus and its parts."""
