"""Exceptions of this package, JSON-RPC error codes, and the error boundary of handlers.

PeerwireError
├── CommandError               a command is invalid (transports.command)
├── LocalError                 this side violated the protocol
├── RpcError                   JSON-RPC error, sent or received
└── TransportError             a transport failed or ended
    ├── ConnectionClosedError  one side closed the connection
    ├── ProcessExitedError     a program exited or closed a stream (transports.process)
    └── SpawnError             a program could not be started
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self


class PeerwireError(Exception):
    """Base class of the exceptions of this package."""


class LocalError(PeerwireError):
    """This side violated the protocol, which is a bug in its code."""


class TransportError(PeerwireError):
    """A transport failed or has ended."""


class ConnectionClosedError(TransportError):
    """The connection has ended; pending requests get no response."""


class SpawnError(TransportError):
    """A program could not be started; the message has the reason and the fix.

    Attributes:
        argv: the program and its arguments.
        errno: error number of the system call; None if no system call failed.
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
"""Standard message of each code; details belong in `data` (acp-host §1.6)."""


class RpcError(PeerwireError):
    """JSON-RPC error: a handler raises it to send it, and a request raises a received one.

    Attributes:
        code: error code of JSON-RPC or ACP.
        message: short text; by default the standard text of the code.
        data: any JSON value: the failure, its place, and the fix.
    """

    def __init__(self, code: int, data: Any = None, *, message: str | None = None) -> None:
        self.code = code
        self.message = message if message is not None else STANDARD_TEXT.get(code, "Error")
        self.data = data
        super().__init__(self.message if data is None else f"{self.message}: {data}")

    def body(self) -> dict[str, Any]:
        """Return the error object for the wire; it omits empty `data`."""
        body = {"code": self.code, "message": self.message}
        return body if self.data is None else {**body, "data": self.data}


def rpc_error_of(error: Exception, context: Mapping[str, str] | None = None) -> RpcError:
    """The error that a peer gets for an exception of a handler.

    An `RpcError` is sent unchanged. Any other exception is an internal error, with its text in
    `data`: alone, or as `fault` next to `context`.
    """
    if isinstance(error, RpcError):
        return error
    fault = str(error) or type(error).__name__
    return RpcError(INTERNAL_ERROR, {**context, "fault": fault} if context else fault)


def invalid_params(reason: str, params: Any) -> RpcError:
    """Return the error for invalid params: `-32602`; the connection stays open (§1.6)."""
    return RpcError(INVALID_PARAMS, {"error": reason, "json": params, "phase": "deserialization"})


class ErrorBoundary:
    """Context manager that stores an exception of its block; cancellation propagates.

    A connection calls each handler inside an error boundary, because an exception is reported or
    logged and must not end the connection (acp-host §1.6). Other modules use it to report an error
    of any type elsewhere, such as in the caller of a thread.
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
