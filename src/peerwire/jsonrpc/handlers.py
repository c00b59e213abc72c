"""What one end does with what it is told and asked: functions by method."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(slots=True)
class Cancellation:
    """Whether the peer has taken a request back; the answer is owed all the same."""

    is_requested: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What a request handler is given.

    Attributes:
        method: the method as the peer wrote it.
        params: the decoded params; None where there were none.
        id: the JSON text of the id, as other messages of this hop may refer to it.
        cancellation: what becomes of it; a coroutine is also cancelled where it waits.
    """

    method: str
    params: Any
    id: bytes
    cancellation: Cancellation = field(default_factory=Cancellation, compare=False)


Reply: TypeAlias = Any | Awaitable[Any]
RequestHandler: TypeAlias = Callable[[Request], Reply]
NotificationHandler: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Handlers:
    """What one end does with what it gets; a request nobody handles is answered `-32601`.

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
