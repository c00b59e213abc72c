"""MCP over lines differs from JSON-RPC as ACP has it in one thing: how a request is taken back."""

from typing import Final

from peerwire.jsonrpc.transport import Listener, Transport

_OURS: Final = b'{"jsonrpc":"2.0","method":"$/cancel_request",'
_MCPS: Final = b'{"jsonrpc":"2.0","method":"notifications/cancelled",'


class McpLines:
    """A transport to an MCP peer, for a connection that cancels as ACP does.

    Both notifications name the request in `requestId`, so that only the method is exchanged.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def backlog(self) -> int:
        """Bytes given to `send` that the peer has not taken yet."""
        return self._transport.backlog

    def start(self, listener: Listener) -> None:
        """Begin to read, on the running event loop."""
        self._transport.start(listener)

    def send(self, line: bytes) -> None:
        """Append one line; a cancellation in MCP's words."""
        if line.startswith(_OURS):
            line = _MCPS + line.removeprefix(_OURS)
        self._transport.send(line)

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Undo `pause_reading`."""
        self._transport.resume_reading()

    async def drain(self) -> None:
        """Wait until the peer has taken most of what was sent."""
        await self._transport.drain()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Write what waits for at most `grace` seconds, then end both directions."""
        await self._transport.aclose(grace=grace)
