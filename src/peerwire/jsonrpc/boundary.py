"""Where whatever a stranger's function raises stops: the connection's one boundary."""

from types import TracebackType
from typing import Self


class Boundary:
    """Keeps the exception of its block instead of letting it out; cancellation still passes.

    A handler's fault is answered or logged and must not end the conversation (acp-host §1.6). Every
    handler is called inside one of these, and nothing else is.
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
