"""Which components a chain needs for what the editor can do; pure: the same for the same inputs."""
