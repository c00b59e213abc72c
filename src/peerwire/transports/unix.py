"""Lines over Unix sockets: connect to a listener, or listen for connections."""

import asyncio
import errno
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from peerwire.jsonrpc.transport import MAX_LINE
from peerwire.transports.fd import FdTransport

WAITING: Final = 128
"""Maximum pending connections in the kernel (`listen` backlog)."""

RETRY: Final = 0.5
"""Seconds until `accept` is tried again after an error, such as too many open files."""

AT_ONCE: Final = 32 * 1024
"""Maximum bytes of one read from a connection, so that other clients are served soon."""

SocketPath: TypeAlias = str | os.PathLike[str]

OnConnection: TypeAlias = Callable[[FdTransport, int], None]
"""Called with each new transport, before its `start`, and the user id of the peer."""

_log = logging.getLogger(__name__)


def connect_unix(path: SocketPath, *, limit: int = MAX_LINE) -> FdTransport:
    """Connect to the listener at `path`.

    Raises:
        FileNotFoundError: the socket does not exist.
        ConnectionRefusedError: the listener has exited.
        BlockingIOError: the listener has too many pending connections.
        OSError: the path is too long, or permission is denied.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(0)
        sock.connect(_fitting(path))
        return FdTransport((fd := sock.detach()), fd, limit=limit)


def serve_unix(
    path: SocketPath,
    on_connection: OnConnection,
    *,
    limit: int = MAX_LINE,
    waiting: int = WAITING,
) -> "UnixListener":
    """Listen at `path` for programs of the same user (mode 0600).

    Raises:
        OSError: the path exists or is too long, or permission is denied.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        with suppress(OSError):
            # Linux creates the file with this mode; other systems need the `chmod` below.
            os.fchmod(sock.fileno(), 0o600)
        sock.bind(_fitting(path))
        Path(path).chmod(0o600)
        sock.listen(waiting)
        return UnixListener(sock, path, on_connection, limit)
    except BaseException:  # closes the socket and raises again
        sock.close()
        raise


class UnixListener:
    """Accept connections until `close`; created by `serve_unix`."""

    def __init__(
        self,
        sock: socket.socket,
        path: SocketPath,
        on_connection: OnConnection,
        limit: int,
    ) -> None:
        self._sock = sock
        self._path = path
        self._on_connection = on_connection
        self._limit = limit
        self._is_mine = _identity(path)
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._watch()

    def is_reachable(self) -> bool:
        """Whether the path still leads to this socket, so that clients can connect."""
        try:
            return _identity(self._path) == self._is_mine
        except OSError:
            return False

    def take_waiting(self) -> int:
        """Accept all pending connections now; return their number."""
        count = 0
        while self._accept():
            count += 1
        return count

    def close(self) -> None:
        """Stop listening and delete the socket file; accepted connections stay open.

        The file stays if another program has replaced it.
        """
        if self._sock.fileno() < 0:
            return
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._sock)
        self._sock.close()
        if self.is_reachable():
            with suppress(OSError):
                Path(self._path).unlink()

    def _watch(self) -> None:
        self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> bool:
        """Accept one connection; return whether one was pending."""
        try:
            sock, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            # Usually too many open files: an immediate retry would fail again.
            _log.warning("no connection can be taken for now: %s", error.strerror)
            self._loop.remove_reader(self._sock)
            self._retry = self._loop.call_later(RETRY, self._watch)
            return False
        with sock:
            try:
                uid = peer_uid(sock)
            except OSError as error:
                _log.warning("refused a connection from an unknown peer: %s", error)
                return True
            transport = FdTransport((fd := sock.detach()), fd, limit=self._limit, read_size=AT_ONCE)
        self._on_connection(transport, uid)
        return True


def peer_uid(sock: socket.socket) -> int:
    """Return the user id of a Unix socket's peer, from the kernel.

    Raises:
        OSError: the peer is disconnected, or the system does not support this query.
    """
    if sys.platform == "linux":
        form = struct.Struct("3i")  # pid, uid, gid
        found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size)
        return form.unpack(found)[1]
    if sys.platform == "darwin":
        form = struct.Struct("=IIh2x16I")  # struct xucred: version, uid, groups
        found = sock.getsockopt(0, 1, form.size)  # SOL_LOCAL, LOCAL_PEERCRED
        return form.unpack(found)[1]
    raise OSError(errno.ENOTSUP, "this system does not tell who is at a socket's other end")


def _fitting(path: SocketPath) -> str:
    longest = 107 if sys.platform == "linux" else 103  # sun_path less its final NUL
    if len(os.fsencode(path)) > longest:
        text = f"the path of a socket has {longest} bytes at most; choose a shorter directory"
        raise OSError(errno.ENAMETOOLONG, text, os.fspath(path))
    return os.fspath(path)


def _identity(path: SocketPath) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino
