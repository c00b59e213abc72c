"""The taskspace engine: a worktree, a branch, an agent and a purpose each; knows no bus."""
