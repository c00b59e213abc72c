"""Snapshots of worktrees, and how they are restored."""
