"""Git, with the configuration of the user and none of the clone."""
