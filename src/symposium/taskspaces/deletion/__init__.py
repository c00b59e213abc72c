"""Removing taskspaces: what would be lost, an archive of all of it, and the way back."""
