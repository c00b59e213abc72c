"""Errors that a caller of the bus receives.

BusError
├── BusUnreachableError    there is no daemon, and none could be started
│   └── BusEndedError      it ended the connection before it answered: it was just going away
├── BusReconnectingError   the connection is lost, and being made again
├── BusLostError           it was lost while an answer was awaited; whether it was done is unknown
└── BusRefusedError        the answer is an error; `code` says which kind
"""

from symposium.errors import SymposiumError


class BusError(SymposiumError):
    """Something on the bus did not work."""


class BusUnreachableError(BusError):
    """There is no daemon, and none could be started."""


class BusEndedError(BusUnreachableError):
    """The daemon has ended the connection before it answered; nothing was asked of it yet."""


class BusReconnectingError(BusError):
    """The connection to the daemon is lost and being made again; nothing was sent."""


class BusLostError(BusError):
    """The connection was lost while an answer was awaited; whether it was done is not known."""


class BusRefusedError(BusError):
    """The handler of a request answered with an error.

    Attributes:
        code: which kind (`symposium.bus.envelope`); empty from a peer of version 1.
    """

    def __init__(self, message: str, code: str = "", hint: str = "") -> None:
        self.code = code
        super().__init__(message, hint)
