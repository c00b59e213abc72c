"""The protocols that peers speak: JSON-RPC, ACP's vocabulary, and the transports. Knows no host and no agent."""
