"""Bus handlers for tasks."""
