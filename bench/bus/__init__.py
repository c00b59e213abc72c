"""Measures the bus beside a NATS server and Redis pub/sub."""
