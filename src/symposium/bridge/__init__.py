"""MCP servers of mods for agents without MCP over ACP: HTTP and stdio endpoints, tunnels."""
