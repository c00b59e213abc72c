"""Handlers of one end for notifications and requests: functions by method."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, field


class Cancellation(Struct):
    """Whether the peer canceled a request; it still gets a response."""

    is_requested: bool = False


class Request(Struct, frozen=True):
    """Argument of a request handler.

    Attributes:
        method: the method as the peer wrote it.
        params: the decoded params; None if absent.
        id: JSON text of the id, for other messages on this connection.
        cancellation: set when the peer cancels; a coroutine is also canceled.
    """

    method: str
    params: Any
    id: bytes
    cancellation: Cancellation = field(default_factory=Cancellation)


Reply: TypeAlias = Any | Awaitable[Any]
RequestHandler: TypeAlias = Callable[[Request], Reply]
NotificationHandler: TypeAlias = Callable[[Any], None]


class Handlers(Struct, frozen=True):
    """Handlers of one end; a request without a handler is answered `-32601`.

    Request handlers may be plain functions or coroutine functions. Notification handlers are plain
    functions, so that notifications take effect in order, before later messages. A coroutine runs
    to its first `await` before the next message is handled. The mappings are read for each
    message, so they may change while the connection is open.
    """

    requests: Mapping[str, RequestHandler] = field(default_factory=dict[str, RequestHandler])
    notifications: Mapping[str, NotificationHandler] = field(
        default_factory=dict[str, NotificationHandler]
    )
    other_request: RequestHandler | None = None
    other_notification: Callable[[str, Any], None] | None = None


class Peer(Protocol):
    """Interface for sending requests and notifications to the other end."""

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result.

        Raises:
            PeerwireError: the response is an error, or the connection has ended.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, without waiting until it is written."""
        ...
