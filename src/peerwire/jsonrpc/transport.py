"""What a transport promises: lines in order, a bound one can see, and one end."""

from collections.abc import Sequence
from typing import Final, Protocol

from peerwire.jsonrpc.codec import Overlong

HIGH_WATER: Final = 64 * 1024
"""Bytes the peer has not taken yet above which it counts as slow."""

LOW_WATER: Final = 16 * 1024
"""Bytes below which a slow peer counts as quick again."""


class Listener(Protocol):
    """Who is told what happens on a transport; every call is synchronous and must not block."""

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Lines arrived, in the order the peer wrote them."""
        ...

    def writing_paused(self) -> None:
        """More than `HIGH_WATER` bytes wait for the peer; called again whenever more are added."""
        ...

    def writing_resumed(self) -> None:
        """Fewer than `LOW_WATER` bytes wait again."""
        ...

    def ended(self, error: Exception | None) -> None:
        """No line will arrive any more: end of stream, or what broke it. Called once."""
        ...


class Transport(Protocol):
    """Lines to and from one peer. Nothing is read before `start`."""

    @property
    def backlog(self) -> int:
        """Bytes given to `send` that the peer has not taken yet."""
        ...

    def start(self, listener: Listener) -> None:
        """Begin to read, on the running event loop."""
        ...

    def send(self, line: bytes) -> None:
        """Append one line, without its newline; written at the end of this turn of the loop."""
        ...

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`; the peer's writes fill its own pipe."""
        ...

    def resume_reading(self) -> None:
        """Undo `pause_reading`."""
        ...

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark, or the transport has ended."""
        ...

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Write what waits for at most `grace` seconds, then end both directions."""
        ...
