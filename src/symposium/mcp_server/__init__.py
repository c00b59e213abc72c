"""MCP server for agents: tools, guidance, and tasks of a directory."""
