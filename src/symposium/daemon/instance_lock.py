"""Locks that keep the daemon of an address unique.

One lock is for starting and leaving, one for the life of the daemon. The system releases the lock
of a process that is killed.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from symposium.bus.daemon_start import DaemonAddress, check_peer, make_directory
from symposium.bus.errors import BusError

PROBE_TIME: Final = 2.0
"""Timeout in seconds for a listener to accept a connection."""

_PRIVATE: Final = 0o600


class RunningError(BusError):
    """A daemon already listens there."""


@contextmanager
def starting(place: DaemonAddress) -> Generator[None]:
    """Hold the lock for starting and leaving; wait for it.

    Raises:
        PlaceError: the directory is not safe.
    """
    make_directory(place)
    handle = _open(place.start_lock)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def acquire_instance_lock(place: DaemonAddress) -> int:
    """Take the life lock, while holding `starting`; return its descriptor, to keep it open.

    Removes the leftovers of a crashed daemon.

    Raises:
        RunningError: a daemon listens there.
        BusError: a daemon runs without its socket, or the socket's path is not a socket.
    """
    if _has_listener(place.socket, place):
        raise RunningError(f"a daemon already listens at {place.socket}", "")
    handle = _open(place.life_lock)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        pid = place.life_lock.read_text(encoding="utf-8").strip() or "unknown"
        text = f"a daemon runs (process {pid}), but its socket {place.socket} is missing"
        raise BusError(text, f"kill {pid}") from error
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    remove_stale(place.socket)
    place.stopped.unlink(missing_ok=True)
    return handle


def claim_compat(path: Path, place: DaemonAddress) -> None:
    """Take the path for peers of version 1, while holding `starting`.

    Raises:
        BusError: another process listens there, or the path is not a socket.
    """
    if _has_listener(path, place):
        text = f"another daemon listens at {path}"
        raise BusError(text, "stop it, or choose another path with --compat-socket")
    remove_stale(path)


def remove_stale(path: Path) -> None:
    """Remove the socket of a crashed daemon; the caller holds the lock.

    Raises:
        BusError: it is not a socket, or belongs to another user.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not path.is_socket() or path.is_symlink():
        raise BusError(f"{path} is not a socket", "move it, or choose another path")
    if found.st_uid != os.getuid():
        text = f"{path} belongs to user {found.st_uid}, not to you"
        raise BusError(text, "that user may want to listen in; choose another path")
    path.unlink()


def _has_listener(path: Path, place: DaemonAddress) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PROBE_TIME)
        try:
            sock.connect(os.fspath(path))
        except OSError as error:
            # A full queue, or a stopped process: a listener exists.
            return error.errno in {errno.EAGAIN, errno.ETIMEDOUT} or isinstance(error, TimeoutError)
        check_peer(sock, place)
        return True


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, _PRIVATE)
