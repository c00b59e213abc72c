"""The engine of tasks: worktrees, agents, logs, snapshots, and the way back."""
