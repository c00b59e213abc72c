"""What agents can call and read: an MCP server for whoever works in a directory."""
