"""Compare the bus with a NATS server and Redis pub/sub."""
