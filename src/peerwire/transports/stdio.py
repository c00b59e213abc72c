"""Our own standard streams as a transport, kept away from everyone else in this process."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from peerwire.errors import TransportError
from peerwire.jsonrpc.codec import MAX_LINE
from peerwire.transports.fd import FdTransport

STDIN, STDOUT, STDERR = 0, 1, 2


def stdio_transport(*, limit: int = MAX_LINE) -> FdTransport:
    """Take standard input and output for the protocol until the transport is closed.

    Meanwhile descriptor 0 is at its end and descriptor 1 is stderr, so that a stray `print` or
    `input` of anybody else does no harm. A standard input that was closed counts as empty.

    Raises:
        TransportError: standard output is closed.
    """
    if sys.__stdout__ is None:
        raise TransportError(
            "standard output is closed, and answers go there; start this program with it open"
        )
    write_fd = _open_again(STDOUT, os.O_WRONLY)
    give_back = [_point(STDOUT, STDERR if sys.__stderr__ is not None else None)]
    if sys.__stdin__ is None:
        # Whatever is descriptor 0 now is somebody else's.
        read_fd = os.open(os.devnull, os.O_RDONLY)
    else:
        read_fd = _open_again(STDIN, os.O_RDONLY)
        give_back.append(_point(STDIN, None))

    def on_close() -> None:
        if sys.stdout is not None:
            with suppress(OSError, ValueError):
                # What others printed meanwhile and Python still holds is no part of the protocol.
                sys.stdout.flush()
        for undo in give_back:
            undo()

    return FdTransport(read_fd, write_fd, limit=limit, on_close=on_close)


def _open_again(fd: int, flags: int) -> int:
    """A second way to the same stream, if it can be with a blocking mode of its own.

    The mode belongs to the open file, which a terminal or a `2>&1` shares with stderr and with
    other programs; a fresh one leaves theirs alone even if we are killed. Only Linux has it.
    """
    with suppress(OSError):
        path = f"/proc/self/fd/{fd}"
        # Not a named pipe: it would not tell a late reader that its writers have gone.
        name = os.readlink(path)  # noqa: PTH115 - pathlib takes milliseconds to import
        if os.isatty(fd) or name.startswith("pipe:"):
            return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    return os.dup(fd)


def _point(fd: int, target: int | None) -> Callable[[], None]:
    """Let `fd` mean what `target` does, or nothing; gives the way back."""
    saved = os.dup(fd)
    source = os.open(os.devnull, os.O_RDWR) if target is None else target
    os.dup2(source, fd)
    if target is None:
        os.close(source)

    def undo() -> None:
        os.dup2(saved, fd)
        os.close(saved)

    return undo
