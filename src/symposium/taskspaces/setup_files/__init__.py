"""What makes a worktree a place to work in: the set-up files of many tools, read as one recipe."""
