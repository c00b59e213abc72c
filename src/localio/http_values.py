"""Requests, results, and errors of HTTP downloads."""

import threading
from dataclasses import dataclass, field

from localio.errors import LocalIOError


class FetchError(LocalIOError):
    """A file could not be had; the message says which and why."""


class AnsweredError(FetchError):
    """The server refused it.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, message: str, hint: str, status: int) -> None:
        self.status = status
        super().__init__(message, hint)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request, and the limits on its response.

    Attributes:
        url: https, or http on this very machine.
        seconds: how long all of it may take.
        most: bytes that may come.
        etag: of the copy that is here; an unchanged file is not sent again.
        stop: set to give up.
        headers: additional headers; a redirect gets none of them.
    """

    url: str
    seconds: float
    most: int
    etag: str | None = None
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpResult:
    """A response.

    Attributes:
        is_unchanged: the copy that is here is still right; nothing was written.
        sha256: of what came, in hexadecimal digits.
    """

    is_unchanged: bool
    etag: str | None
    sha256: str
