"""Requests, results, and errors of HTTP downloads."""

import threading
from dataclasses import dataclass, field

from localio.errors import LocalIOError


class FetchError(LocalIOError):
    """A download failed; the message says which and why."""


class AnsweredError(FetchError):
    """The server responded with an error.

    Attributes:
        status: HTTP status code.
    """

    def __init__(self, message: str, hint: str, status: int) -> None:
        self.status = status
        super().__init__(message, hint)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request, and the limits on its response.

    Attributes:
        url: https, or http on this machine.
        seconds: limit for the whole download.
        max_bytes: limit for the size of the file.
        etag: of the local copy; the server does not send an unchanged file again.
        stop: set it to abort the download.
        headers: additional headers; they are not sent to redirects.
    """

    url: str
    seconds: float
    max_bytes: int
    etag: str | None = None
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpResult:
    """A response.

    Attributes:
        is_unchanged: the local copy is up to date; nothing was written.
        sha256: of the file, as hexadecimal digits.
    """

    is_unchanged: bool
    etag: str | None
    sha256: str
