"""MCP client for one server: a program, a URL, or a mod."""
