"""The port has moved to `peerwire.jsonrpc.transport`, below both its users; these names stay until nobody asks here."""

from peerwire.jsonrpc.transport import HIGH_WATER, LOW_WATER, Listener, Transport

__all__ = ["HIGH_WATER", "LOW_WATER", "Listener", "Transport"]
