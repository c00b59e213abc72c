"""The agents that come with the host: for tests, demos and first steps."""
