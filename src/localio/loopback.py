"""Loopback ports: their connections, and the checks of token, Host, and Origin of a request."""

import asyncio
import hmac
import logging
import re
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Final

ADDRESS: Final = "127.0.0.1"
RETRY: Final = 0.5
"""Seconds without accepting connections after running out of file descriptors."""

_HERE: Final = re.compile(
    rb"(http://)?(?:127\.0\.0\.1|localhost|\[::1\])(?::([1-9][0-9]{0,4}))?", re.IGNORECASE
)
_LAST_PORT: Final = 65535
_SINGLE: Final = (b"host", b"origin", b"authorization")
_log = logging.getLogger(__name__)


def new_token() -> str:
    """Create a random URL-safe token of 256 bits."""
    return secrets.token_urlsafe(32)


def is_same(token: str, given: bytes) -> bool:
    """Compare a token in constant time."""
    return hmac.compare_digest(token.encode(), given)


def checked_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
    """Headers by lower-case name; None if one that decides about access occurs twice."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        key = name.lower()
        if key in found and key in _SINGLE:
            return None
        found[key] = value
    return found


def is_local(value: bytes, *, is_origin: bool = False) -> bool:
    """Whether a Host or an Origin names this machine; another name can lead here by DNS."""
    found = _HERE.fullmatch(value)
    return (
        found is not None
        and (found[1] is not None) is is_origin
        and int(found[2] or 1) <= _LAST_PORT
    )


def has_token(headers: Mapping[bytes, bytes], token: str) -> bool:
    """Whether the request has the token, as bearer authorization."""
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    return scheme.lower() == b"bearer" and is_same(token, given.strip())


class LoopbackPort:
    """Accept connections on a free port until closed."""

    def __init__(self, on_connection: Callable[[socket.socket], None]) -> None:
        self._on_connection = on_connection
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._sock = socket.create_server((ADDRESS, 0))
        self._sock.settimeout(0)
        self.port: int = self._sock.getsockname()[1]
        self._watch()

    def close(self) -> None:
        """Stop accepting connections; open ones stay."""
        if self._sock.fileno() >= 0:
            if self._retry is not None:
                self._retry.cancel()
            self._loop.remove_reader(self._sock)
            self._sock.close()

    def _watch(self) -> None:
        self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            _log.warning("cannot accept connections for now: %s", error)
            self._loop.remove_reader(self._sock)
            self._retry = self._loop.call_later(RETRY, self._watch)
            return
        sock.settimeout(0)
        # Without TCP_NODELAY, small responses are delayed by 40 ms each.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._on_connection(sock)


class Connections:
    """Connections to one endpoint; those without the token cannot block others.

    Args:
        max_connections: maximum number of connections.
        max_unproven: maximum number of those without the token.
    """

    def __init__(self, max_connections: int, max_unproven: int) -> None:
        self._max_connections = max_connections
        self._max_unproven = max_unproven
        self._serving: set[asyncio.Task[None]] = set()
        self._unproven: dict[asyncio.Task[None], None] = {}

    def has_room(self) -> bool:
        """Whether a connection can be added; closes the oldest one without the token if full."""
        is_full = len(self._serving) >= self._max_connections
        if len(self._unproven) >= self._max_unproven or (is_full and self._unproven):
            oldest = next(iter(self._unproven))
            self.prove(oldest)
            self._serving.discard(oldest)
            oldest.cancel()
            return True
        return not is_full

    def add(self, task: asyncio.Task[None]) -> None:
        """Count a connection until its task ends."""
        self._serving.add(task)
        self._unproven[task] = None
        task.add_done_callback(self._serving.discard)
        task.add_done_callback(self.prove)

    def prove(self, task: asyncio.Task[None] | None = None) -> None:
        """Mark a connection, by default that of the current task, as having sent the token."""
        task = task or asyncio.current_task()
        if task is not None:
            self._unproven.pop(task, None)

    def cancel(self) -> None:
        """Cancel the handlers of all open connections."""
        for task in self._serving:
            task.cancel()
