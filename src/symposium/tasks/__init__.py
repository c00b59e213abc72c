"""Tasks: worktrees, agents, logs, snapshots, and undo."""
