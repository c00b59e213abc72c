"""Which mods suit a workspace: rules are read, workspaces are surveyed, the user decides."""
