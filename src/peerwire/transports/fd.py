"""Lines over file descriptors, also over our own standard streams.

The turn costs two microseconds of CPU time and a system call, on every hop of every round trip.

Reads and writes go straight to the descriptor, one system call for all lines of a wake-up: several
times faster than `asyncio`'s streams (docs/design/transports.md has the measurements).
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from peerwire.errors import TransportError
from peerwire.jsonrpc.transport import MAX_LINE, Listener
from peerwire.transports.fd_streams import READ_SIZE, FdReader, FdWriter

_Lines = TypeVar("_Lines")


class WriteBatch:
    """Writes to do on one event loop after the lines just read are routed."""

    def __init__(self) -> None:
        self._is_open = False
        self._due: list[Callable[[], None]] = []

    def flush_at_end(self, flush: Callable[[], None]) -> None:
        """Call this when the lines are routed; at the loop's next turn, if none are just now."""
        if self._is_open:
            self._due.append(flush)
        else:
            asyncio.get_running_loop().call_soon(flush)

    def batched(self, receive: Callable[[_Lines], None]) -> Callable[[_Lines], None]:
        """The same receiver, with what it sends written when it returns."""

        def received(lines: _Lines) -> None:
            self._is_open = True
            try:
                receive(lines)
            finally:
                self._is_open = False
                due, self._due = self._due, []
                for flush in due:
                    flush()

        return received


class _Here(threading.local):
    def __init__(self) -> None:
        self.wake_up = WriteBatch()


_here: Final = _Here()


def current_wake_up() -> WriteBatch:
    """The one of this thread: a thread runs one event loop at a time."""
    return _here.wake_up


class FdTransport:
    """Owns both descriptors until it is closed; they may be the same one (a socket).

    Make it while an event loop runs. `on_close` is called when the descriptors have been closed.
    `read_size` is what one wake-up takes in, in bytes.

    Attributes:
        reader: the reading half.
    """

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        limit: int = MAX_LINE,
        on_close: Callable[[], None] | None = None,
        read_size: int = READ_SIZE,
    ) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._wake_up = current_wake_up()
        self.reader = FdReader(read_fd, limit, read_size)
        self._writer = FdWriter(write_fd)
        self._fresh: list[bytes] = []
        self._started = False
        self._mute = False
        # Both modes before either changes: a terminal is often one description behind both.
        self._was_blocking = {fd: os.get_blocking(fd) for fd in (read_fd, write_fd)}

    @property
    def backlog(self) -> int:
        """Bytes given to `send` that the peer has not taken yet."""
        return self._writer.size + _size(self._fresh)

    def start(self, listener: Listener) -> None:
        """Begin to read, on the running event loop."""
        for fd in self._was_blocking:
            os.set_blocking(fd, False)
        self._started = True
        self._writer.start(listener, self._broke)
        self.reader.start(self._wake_up.batched(listener.lines_received), listener.ended)
        self._flush()

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`."""
        self.reader.pause()

    def resume_reading(self) -> None:
        """Undo `pause_reading`."""
        self.reader.resume()

    def finish_reading(self, error: Exception | None = None) -> None:
        """Take what has arrived by now, then end, though the other end may not be closed."""
        if self._started:
            self.reader.finish(error)

    def send(self, line: bytes) -> None:
        """Append one line; written with all others of this turn of the loop."""
        if self._mute:
            return
        if not self._fresh and self._started:
            self._wake_up.flush_at_end(self._flush)
        self._fresh.append(line)

    def _flush(self) -> None:
        lines, self._fresh = self._fresh, []
        if not lines or self._mute:
            return
        if len(lines) == 1 and len(lines[0]) < READ_SIZE:
            self._writer.write_small(lines[0] + b"\n")
            return
        size = _size(lines)
        if size > READ_SIZE and max(map(len, lines)) > READ_SIZE:
            self._writer.write(_segments(lines), size)
        else:
            lines.append(b"")
            self._writer.write_small(b"\n".join(lines))

    def _broke(self, error: OSError) -> None:
        # The peer stopped reading. What it wrote before is worth having, then this is the end.
        self._mute = True
        self._loop.call_soon(self.reader.finish, error)

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark, or the peer reads no more."""
        await asyncio.sleep(0)
        await self._writer.drain()

    async def flush(self) -> None:
        """Wait until the peer has taken everything sent so far, or reads no more."""
        if self._started:
            self._flush()
            await self._writer.flush()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Write what waits for at most `grace` seconds, then close both descriptors."""
        self.reader.discard()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.flush()
        finally:
            self.close()

    def close_writing(self) -> None:
        """End our direction now; the peer sees the end of its input and may still write."""
        self._mute = True
        self._writer.close()
        if self._write_fd != self._read_fd:
            self._close(self._write_fd)

    def close(self) -> None:
        """Close both descriptors now, in their original blocking mode, without notification."""
        self._mute = True
        self.reader.close()
        self._writer.close()
        for fd in (self._read_fd, self._write_fd):
            self._close(fd)
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close()

    def _close(self, fd: int) -> None:
        was_blocking = self._was_blocking.pop(fd, None)
        if was_blocking is None:
            return
        with suppress(OSError):
            if was_blocking:
                # Standard streams share their mode with everyone who has the same terminal.
                os.set_blocking(fd, True)
            os.close(fd)


def _size(lines: list[bytes]) -> int:
    """Bytes of these lines, each with its newline."""
    return sum(map(len, lines)) + len(lines)


def _segments(lines: list[bytes]) -> list[memoryview]:
    """A gathered write's buffers: large lines as they are, the small ones around them joined."""
    newline = memoryview(b"\n")
    small: list[bytes] = []
    segments: list[memoryview] = []
    for line in lines:
        if len(line) <= READ_SIZE:
            small.append(line)
            continue
        if small:
            segments.append(memoryview(b"\n".join((*small, b""))))
            small.clear()
        segments += (memoryview(line), newline)
    if small:
        segments.append(memoryview(b"\n".join((*small, b""))))
    return segments


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
        # Descriptor 0 may be reused by now: do not touch it.
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
