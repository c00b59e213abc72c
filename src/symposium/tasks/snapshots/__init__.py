"""Snapshots of worktrees and their restoration."""
