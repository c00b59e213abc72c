"""The message bus: typed messages, routing, broker, and client."""
