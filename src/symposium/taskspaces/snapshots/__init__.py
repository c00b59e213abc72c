"""Hidden snapshots of worktrees: their tree, index, branch and stash, at every tool call."""
