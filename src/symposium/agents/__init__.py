"""Built-in agents for tests, demos, and first steps."""
