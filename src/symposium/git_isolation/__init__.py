"""Run git in a clone without the clone's own configuration, hooks, and programs."""
