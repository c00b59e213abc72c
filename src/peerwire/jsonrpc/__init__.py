"""JSON-RPC 2.0 as lines: messages, framing, batches, and one peer's connection."""
