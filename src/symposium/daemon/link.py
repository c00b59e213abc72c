"""One client's connection as the daemon holds it: bounded, and ended with a reason."""

from collections.abc import Callable, Sequence
from typing import Protocol

from peerwire.jsonrpc.transport import Overlong
from peerwire.transports.fd import FdTransport

Lines = Sequence[bytes | Overlong]


class LinkOwner(Protocol):
    """Who is told what happens on a link."""

    def received(self, link: "Link", lines: Lines) -> None:
        """Lines have come."""
        ...

    def slow(self, link: "Link") -> None:
        """Much waits for this client."""
        ...

    def quick(self, link: "Link") -> None:
        """Little waits for it again."""
        ...

    def gone(self, link: "Link") -> None:
        """It has ended."""
        ...


class Link:
    """A transport with a name; tells its owner.

    Args:
        name: of the connection.
        transport: carries its lines.
        owner: receives them.
        on_read: called after each read, which can be of a part of a line.
    """

    def __init__(
        self,
        name: str,
        transport: FdTransport,
        owner: LinkOwner,
        on_read: Callable[["Link"], None],
    ) -> None:
        self._on_read = on_read
        self.name = name
        self.transport = transport
        self._owner = owner

    def start(self) -> None:
        """Begin to read."""
        self.transport.reader.tell_reads(self._read)
        self.transport.start(self)

    def _read(self, lines: Lines) -> None:
        del lines
        self._on_read(self)

    def lines_received(self, lines: Lines) -> None:
        """Tell the owner."""
        self._owner.received(self, lines)

    def writing_paused(self) -> None:
        """Tell the owner."""
        self._owner.slow(self)

    def writing_resumed(self) -> None:
        """Tell the owner."""
        self._owner.quick(self)

    def ended(self, error: Exception | None) -> None:
        """Tell the owner; how a client ended is its own affair."""
        del error
        self._owner.gone(self)
