"""MCP over ACP for agents without it, above the chain."""
