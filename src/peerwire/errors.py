"""What can go wrong between two peers, by whose fault it is.

PeerwireError
├── CommandError               what was written names no program (transports.command)
├── LocalError                 we tried what the protocol does not allow
├── RpcError                   an error that crosses, or has crossed, the wire
└── TransportError             the bytes stopped
    ├── ConnectionClosedError  the peer, or we, ended the connection
    ├── ProcessExitedError     a program ended its side (transports.process)
    └── SpawnError             the program could not be started
"""


class PeerwireError(Exception):
    """Anything this package raises on purpose."""


class LocalError(PeerwireError):
    """We tried what the protocol does not allow: a bug on this side of the wire."""


class TransportError(PeerwireError):
    """The bytes stopped coming or going."""


class ConnectionClosedError(TransportError):
    """The connection has ended; what was asked will not be answered."""


class SpawnError(TransportError):
    """A program could not be started; the message says why, and how to mend it.

    Attributes:
        argv: what was to be started.
        errno: the system's number for the reason; None where it was not asked.
    """

    def __init__(
        self, message: str, *, argv: tuple[str, ...] = (), errno: int | None = None
    ) -> None:
        super().__init__(message)
        self.argv = argv
        self.errno = errno
