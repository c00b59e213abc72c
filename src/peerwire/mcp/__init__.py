"""MCP as a client needs it: one server, however it is reached. No SDK, nothing heavy."""
