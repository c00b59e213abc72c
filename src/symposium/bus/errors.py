"""Errors that a caller of the bus receives.

BusError
├── BusUnreachableError    no daemon is running, and none could be started
│   └── BusEndedError      the daemon closed the connection before an answer: it was stopping
├── BusReconnectingError   the connection is lost; the client reconnects
├── BusLostError           the connection was lost before the reply; the outcome is unknown
└── BusRefusedError        the reply is an error; `code` gives its kind
"""

from symposium.errors import SymposiumError


class BusError(SymposiumError):
    """A request or a connection on the bus failed."""


class BusUnreachableError(BusError):
    """No daemon is running, and none could be started."""


class BusEndedError(BusUnreachableError):
    """The daemon closed the connection before its first answer; nothing was sent yet."""


class BusReconnectingError(BusError):
    """The connection to the daemon is lost; the client reconnects. Nothing was sent."""


class BusLostError(BusError):
    """The connection was lost while waiting for a reply; the outcome is unknown."""


class BusRefusedError(BusError):
    """The handler of a request answered with an error.

    Attributes:
        code: kind of the error (`symposium.bus.error_codes`); empty from a peer of version 1.
    """

    def __init__(self, message: str, code: str = "", hint: str = "") -> None:
        self.code = code
        super().__init__(message, hint)
