"""Run git with the user's configuration, without the clone's."""
