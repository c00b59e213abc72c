"""The protocols that peers speak: JSON-RPC, ACP's vocabulary, MCP's client, and the transports.

Knows no host and no agent.
"""
