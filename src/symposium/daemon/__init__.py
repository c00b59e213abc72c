"""The daemon: the one long-lived process of a user, with the bus and its parts."""
