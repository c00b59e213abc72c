"""Deletion of a task: report, archive, and restore."""
