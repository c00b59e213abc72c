"""Errors between two peers: JSON-RPC codes, RpcError, and the boundary around handlers.

PeerwireError
├── CommandError               what was written names no program (transports.command)
├── LocalError                 we tried what the protocol does not allow
├── RpcError                   an error that crosses, or has crossed, the wire
└── TransportError             the bytes stopped
    ├── ConnectionClosedError  the peer, or we, ended the connection
    ├── ProcessExitedError     a program ended its side (transports.process)
    └── SpawnError             the program could not be started
"""

from types import TracebackType
from typing import Any, Final, Self


class PeerwireError(Exception):
    """Anything this package raises on purpose."""


class LocalError(PeerwireError):
    """We tried what the protocol does not allow: a bug on this side of the wire."""


class TransportError(PeerwireError):
    """The bytes stopped coming or going."""


class ConnectionClosedError(TransportError):
    """The connection has ended; what was asked will not be answered."""


class SpawnError(TransportError):
    """A program could not be started; the message says why, and how to fix it.

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


PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002

STANDARD_TEXT: Final = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid Request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    REQUEST_CANCELLED: "Request cancelled",
    AUTH_REQUIRED: "Authentication required",
    RESOURCE_NOT_FOUND: "Resource not found",
}
"""The texts that go with the codes; detail belongs into `data` (acp-host §1.6)."""


class RpcError(PeerwireError):
    """An error of JSON-RPC: raised by a handler to answer with it, or by a request that got one.

    Attributes:
        code: the number, JSON-RPC's or ACP's.
        message: the short text; the standard one where the code has one.
        data: anything JSON can say; what failed, where, and how to fix it.
    """

    def __init__(self, code: int, data: Any = None, *, message: str | None = None) -> None:
        self.code = code
        self.message = message if message is not None else STANDARD_TEXT.get(code, "Error")
        self.data = data
        super().__init__(self.message if data is None else f"{self.message}: {data}")

    def body(self) -> dict[str, Any]:
        """The error object in its wire form; `data` only if present."""
        body = {"code": self.code, "message": self.message}
        return body if self.data is None else {**body, "data": self.data}


def invalid_params(reason: str, params: Any) -> RpcError:
    """The answer to params that a handler cannot read: `-32602`, the connection lives (§1.6)."""
    return RpcError(INVALID_PARAMS, {"error": reason, "json": params, "phase": "deserialization"})


class ErrorBoundary:
    """Keeps the exception of its block instead of letting it out; cancellation still passes.

    A handler's fault is answered or logged and must not end the conversation (acp-host §1.6): a
    connection calls each handler inside one of these. Other modules use it where an error of any
    type is reported elsewhere, such as in the caller of a thread.
    """

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        if isinstance(error, Exception):
            self.error = error
            return True
        return False
