"""Who is the daemon: of all that start at once exactly one, also after one was killed (§7 row 8).

Two locks, both `flock`, which the kernel lets go when a process dies:
the start lock is held while a daemon looks, takes the place and listens, and again while it leaves;
the life lock is held by a daemon as long as it lives.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from symposium.bus.connect import DaemonAddress, check_peer, make_directory
from symposium.bus.errors import BusError

PROBE_TIME: Final = 2.0
"""Seconds in which whoever listens must take our connection."""

_PRIVATE: Final = 0o600


class RunningError(BusError):
    """A daemon listens there already; that is no failure of who wanted one."""


@contextmanager
def starting(place: DaemonAddress) -> Generator[None]:
    """Be the only one who starts or leaves; waits for its turn.

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
    """Take the place, within `starting`: the life lock's descriptor, to be kept open.

    What a dead daemon has left is removed.

    Raises:
        RunningError: a daemon listens there, or lives without its socket.
        BusError: what stands at the socket's path is no socket.
    """
    if _somebody_listens(place.socket, place):
        raise RunningError(f"a daemon listens at {place.socket} already", "")
    handle = _open(place.life_lock)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        pid = place.life_lock.read_text(encoding="utf-8").strip() or "unknown"
        text = f"a daemon lives (process {pid}) and its socket {place.socket} is gone"
        raise BusError(text, f"kill {pid}") from error
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    remove_stale(place.socket)
    place.stopped.unlink(missing_ok=True)
    return handle


def claim_compat(path: Path, place: DaemonAddress) -> None:
    """Take the path where peers of version 1 come, within `starting`.

    Raises:
        BusError: somebody listens there, or what stands there is no socket.
    """
    if _somebody_listens(path, place):
        text = f"another daemon listens at {path}"
        raise BusError(text, "end it, or name another path with --compat-socket")
    remove_stale(path)


def remove_stale(path: Path) -> None:
    """Remove the socket that a dead daemon has left; whoever calls holds the lock.

    Raises:
        BusError: it is no socket, or another user's.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not path.is_socket() or path.is_symlink():
        raise BusError(f"{path} is no socket", "move it away, or name another path")
    if found.st_uid != os.getuid():
        text = f"{path} belongs to user {found.st_uid}, not to you"
        raise BusError(text, "somebody may want to listen in; name another path")
    path.unlink()


def _somebody_listens(path: Path, place: DaemonAddress) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PROBE_TIME)
        try:
            sock.connect(os.fspath(path))
        except OSError as error:
            # Its queue is full, or it is stopped: somebody is there all the same.
            return error.errno in {errno.EAGAIN, errno.ETIMEDOUT} or isinstance(error, TimeoutError)
        check_peer(sock, place)
        return True


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, _PRIVATE)
