"""MCP servers of mods for agents that do not speak MCP over ACP: by HTTP, else by a program."""
