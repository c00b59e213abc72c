"""Chain of components: mod API, routing, start, and stop."""
