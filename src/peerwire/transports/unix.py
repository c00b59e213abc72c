"""Lines over Unix sockets: to reach a program of the same user, or to be reached."""

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
"""Connections the kernel keeps for us until we take them."""

RETRY: Final = 0.5
"""Seconds before we take connections again when there was no descriptor left for one."""

AT_ONCE: Final = 32 * 1024
"""Bytes that a listener's end takes in at a time: while they are routed, the others write on."""

SocketPath: TypeAlias = str | os.PathLike[str]

OnConnection: TypeAlias = Callable[[FdTransport, int], None]
"""Given each new connection, not started yet, and the user id of its other end."""

_log = logging.getLogger(__name__)


def connect_unix(path: SocketPath, *, limit: int = MAX_LINE) -> FdTransport:
    """Connect to the listener at `path`.

    Raises:
        FileNotFoundError: the socket does not exist.
        ConnectionRefusedError: the listener has exited.
        BlockingIOError: too many wait there to be taken.
        OSError: the path is too long, or not allowed.
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
    """Listen at `path`, where nothing may be yet, for programs of this user only (mode 0600).

    Raises:
        OSError: something is at that path, it is too long, or it is not allowed.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        with suppress(OSError):
            # Linux makes the file with this mode; elsewhere there is a moment before `chmod`.
            os.fchmod(sock.fileno(), 0o600)
        sock.bind(_fitting(path))
        Path(path).chmod(0o600)
        sock.listen(waiting)
        return UnixListener(sock, path, on_connection, limit)
    except BaseException:  # not handled: only closed, and raised again
        sock.close()
        raise


class UnixListener:
    """Takes connections until it is closed; made by `serve_unix`."""

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
        """Whether the socket file is still this listener's, so that clients can connect."""
        try:
            return _identity(self._path) == self._is_mine
        except OSError:
            return False

    def take_waiting(self) -> int:
        """Take at once those who wait already; how many they were."""
        count = 0
        while self._accept():
            count += 1
        return count

    def close(self) -> None:
        """Take no more; the file goes if it is still ours. Those we have taken stay."""
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
        """Take one who waits; whether there was one."""
        try:
            sock, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            # Most likely too many files are open; asked again at once, it would not say otherwise.
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
    """The user id of the process at the other end of a Unix socket, as the kernel knows it.

    Raises:
        OSError: the other end has gone, or this system does not tell.
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
