"""Protocol libraries: JSON-RPC, ACP names, MCP client, and transports.

They are independent of Symposium and of any agent.
"""
