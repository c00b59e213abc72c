"""A transport that lets somebody else see each line that passes."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from peerwire.jsonrpc.codec import Overlong
from peerwire.jsonrpc.transport import Listener, Transport

Seen: TypeAlias = Callable[[Literal["received", "sent"], bytes | Overlong], None]
"""Told the direction, as seen from here, and the line; before anybody acts on it."""


class TappedTransport:
    """Passes everything on to and from another transport, and shows it on the way."""

    def __init__(self, transport: Transport, on_line: Seen) -> None:
        self._transport = transport
        self._on_line = on_line

    @property
    def backlog(self) -> int:
        """Bytes given to `send` that the peer has not taken yet."""
        return self._transport.backlog

    def start(self, listener: Listener) -> None:
        """Begin to read, on the running event loop."""
        self._listener = listener
        self._transport.start(self)

    def send(self, line: bytes) -> None:
        """Show one line, and append it."""
        self._on_line("sent", line)
        self._transport.send(line)

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Undo `pause_reading`."""
        self._transport.resume_reading()

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark."""
        await self._transport.drain()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Close the other transport."""
        await self._transport.aclose(grace=grace)

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Show the lines, and pass them on."""
        for line in lines:
            self._on_line("received", line)
        self._listener.lines_received(lines)

    def writing_paused(self) -> None:
        """Pass it on."""
        self._listener.writing_paused()

    def writing_resumed(self) -> None:
        """Pass it on."""
        self._listener.writing_resumed()

    def ended(self, error: Exception | None) -> None:
        """Pass it on."""
        self._listener.ended(error)
