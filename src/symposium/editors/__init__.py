"""Supported editors: find their settings, add Symposium, and undo that."""
