"""The port has moved to `peerwire.jsonrpc.transport`; these names stay until nobody asks."""

from peerwire.jsonrpc.transport import HIGH_WATER, LOW_WATER, Listener, Transport

__all__ = ["HIGH_WATER", "LOW_WATER", "Listener", "Transport"]
