"""ACP client for the commands: a chain, its sessions, and requests to the user."""
