"""JSON-RPC 2.0 over lines: messages, framing, batches, and the connection of one peer."""
