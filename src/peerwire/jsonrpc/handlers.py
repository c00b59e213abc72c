"""Handlers of one end for notifications and requests: functions by method."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, field


class Cancellation(Struct):
    """Whether the peer has taken a request back; the answer is still owed."""

    is_requested: bool = False


class Request(Struct, frozen=True):
    """Argument of a request handler.

    Attributes:
        method: the method as the peer wrote it.
        params: the decoded params; None if absent.
        id: the JSON text of the id, as other messages of this hop may refer to it.
        cancellation: what becomes of it; a coroutine is also cancelled where it waits.
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

    Request handlers may be plain functions or coroutine functions; notification handlers are plain
    functions, so that notifications take effect in the order they arrive, before whatever was
    written after them. A coroutine has run to its first wait before the next message is taken.
    The mappings are looked into for each message, so they may change while the connection lives.
    """

    requests: Mapping[str, RequestHandler] = field(default_factory=dict[str, RequestHandler])
    notifications: Mapping[str, NotificationHandler] = field(
        default_factory=dict[str, NotificationHandler]
    )
    other_request: RequestHandler | None = None
    other_notification: Callable[[str, Any], None] | None = None


class Peer(Protocol):
    """The other end, as a sender of requests and notifications sees it."""

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result.

        Raises:
            PeerwireError: the response is an error, or the connection has ended.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        ...
