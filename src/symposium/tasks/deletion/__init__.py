"""Deletion of a task: its report, its archive, its undo."""
