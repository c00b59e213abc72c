"""Lines over file descriptors, including standard input and output.

It reads and writes the descriptors directly, with one system call for all lines of a wake-up. This
is several times faster than the streams of `asyncio` (measurements: docs/design/transports.md).
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from peerwire.errors import TransportError
from peerwire.jsonrpc.transport import MAX_LINE, Listener
from peerwire.jsonrpc.values import Body
from peerwire.transports.fd_streams import READ_SIZE, FdReader, FdWriter

_Lines = TypeVar("_Lines")


_NEWLINE: Final = memoryview(b"\n")


class WriteBatch:
    """Collect the writes caused by one read, and flush them after all its lines are handled.

    The alternative, `call_soon`, costs a system call and two microseconds of CPU time per hop.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._due: list[Callable[[], None]] = []

    def flush_at_end(self, flush: Callable[[], None]) -> None:
        """Call `flush` at the end of the current batch, or in the next loop iteration."""
        if self._is_open:
            self._due.append(flush)
        else:
            asyncio.get_running_loop().call_soon(flush)

    def batched(self, receive: Callable[[_Lines], None]) -> Callable[[_Lines], None]:
        """Wrap a receiver so that its writes are flushed when it returns."""

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
    """Return the batch of this thread, because a thread runs one event loop at a time."""
    return _here.wake_up


class FdTransport:
    """Transport over two descriptors, or one socket; it owns them until it is closed.

    Create it while an event loop runs. `on_close` is called after the descriptors are closed.
    `read_size` is the maximum number of bytes of one read.
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
        self._segments: list[memoryview] = []
        """Buffers to write before `_fresh`: a line in pieces, and the lines sent before it."""
        self._fresh: list[bytes] = []
        self._started = False
        self._mute = False
        # Save both modes before a change: both descriptors may share one open terminal.
        self._was_blocking = {fd: os.get_blocking(fd) for fd in (read_fd, write_fd)}

    @property
    def backlog(self) -> int:
        """Sent bytes that the peer has not read yet."""
        return self._writer.size + sum(map(len, self._segments)) + _size(self._fresh)

    def start(self, listener: Listener) -> None:
        """Start reading, on the running event loop."""
        for fd in self._was_blocking:
            os.set_blocking(fd, False)
        self._started = True
        self._writer.start(listener, self._broke)
        self.reader.start(self._wake_up.batched(listener.lines_received), listener.ended)
        self._flush()

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        self.reader.pause()

    def resume_reading(self) -> None:
        self.reader.resume()

    def finish_reading(self, error: Exception | None = None) -> None:
        """Read the available data, then end, even if the peer's end is still open."""
        if self._started:
            self.reader.finish(error)

    def send(self, line: bytes) -> None:
        """Queue one line; all lines of a batch are written together."""
        if self._mute:
            return
        if not self._fresh and self._started:
            self._wake_up.flush_at_end(self._flush)
        self._fresh.append(line)

    def send_pieces(self, pieces: Sequence[Body]) -> None:
        """Queue one line given in pieces, which are not copied; for lines of megabytes."""
        if self._mute:
            return
        if self._started:
            self._wake_up.flush_at_end(self._flush)
        self._segments += _segments(self._fresh)
        self._fresh = []
        self._segments += (*map(memoryview, pieces), _NEWLINE)

    def _flush(self) -> None:
        segments, self._segments = self._segments, []
        if segments and not self._mute:
            self._writer.write(segments, sum(map(len, segments)))
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
        # The peer stopped reading: deliver the output it wrote before, then end.
        self._mute = True
        self._loop.call_soon(self.reader.finish, error)

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark, or the transport has ended."""
        await asyncio.sleep(0)
        await self._writer.drain()

    async def flush(self) -> None:
        """Wait until all queued lines are written, or the transport has ended."""
        if self._started:
            self._flush()
            await self._writer.flush()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Write queued lines for at most `grace` seconds, then close both descriptors."""
        self.reader.discard()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.flush()
        finally:
            self.close()

    def close_writing(self) -> None:
        """Close the write descriptor; the peer reads the end of its input and may still write."""
        self._mute = True
        self._writer.close()
        if self._write_fd != self._read_fd:
            _close(self._write_fd, self._was_blocking)

    def close(self) -> None:
        """Restore the blocking mode of both descriptors and close them, without `ended`."""
        self._mute = True
        self.reader.close()
        self._writer.close()
        for fd in (self._read_fd, self._write_fd):
            _close(fd, self._was_blocking)
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close()


def _close(fd: int, was_blocking: dict[int, bool]) -> None:
    """Restore the blocking mode of a descriptor and close it, once."""
    is_blocking = was_blocking.pop(fd, None)
    if is_blocking is None:
        return
    with suppress(OSError):
        if is_blocking:
            # All programs that share a terminal share its blocking mode.
            os.set_blocking(fd, True)
        os.close(fd)


def _size(lines: list[bytes]) -> int:
    """Total bytes of lines with their newlines."""
    return sum(map(len, lines)) + len(lines)


def _segments(lines: list[bytes]) -> list[memoryview]:
    """Return the buffers of a `writev`: large lines are not copied, small lines are joined."""
    small: list[bytes] = []
    segments: list[memoryview] = []
    for line in lines:
        if len(line) <= READ_SIZE:
            small.append(line)
            continue
        if small:
            segments.append(memoryview(b"\n".join((*small, b""))))
            small.clear()
        segments += (memoryview(line), _NEWLINE)
    if small:
        segments.append(memoryview(b"\n".join((*small, b""))))
    return segments


STDIN, STDOUT, STDERR = 0, 1, 2


def stdio_transport(*, limit: int = MAX_LINE) -> FdTransport:
    """Reserve standard input and output for the protocol until the transport is closed.

    Meanwhile descriptor 0 is empty and descriptor 1 is stderr, so that a `print` or `input` in
    other code does not disturb the protocol. A closed standard input counts as empty.

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
        # Descriptor 0 may belong to another file now: do not change it.
        read_fd = os.open(os.devnull, os.O_RDONLY)
    else:
        read_fd = _open_again(STDIN, os.O_RDONLY)
        give_back.append(_point(STDIN, None))

    def on_close() -> None:
        if sys.stdout is not None:
            with suppress(OSError, ValueError):
                # Flush the output of other code while descriptor 1 still leads to stderr.
                sys.stdout.flush()
        for undo in give_back:
            undo()

    return FdTransport(read_fd, write_fd, limit=limit, on_close=on_close)


def _open_again(fd: int, flags: int) -> int:
    """Open the stream of `fd` again; duplicate `fd` if that is not possible.

    The blocking mode belongs to the open file, which stderr and other programs share if the stream
    is a terminal or if `2>&1` was used. A new open file has its own mode, so the shared mode stays
    unchanged even if this process is killed. Linux only.
    """
    with suppress(OSError):
        path = f"/proc/self/fd/{fd}"
        # Not a named pipe: a reader that opens it late does not see the end of the stream.
        name = os.readlink(path)  # noqa: PTH115 - pathlib takes milliseconds to import
        if os.isatty(fd) or name.startswith("pipe:"):
            return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    return os.dup(fd)


def _point(fd: int, target: int | None) -> Callable[[], None]:
    """Redirect `fd` to `target`, or to /dev/null; return a function that undoes this."""
    saved = os.dup(fd)
    source = os.open(os.devnull, os.O_RDWR) if target is None else target
    os.dup2(source, fd)
    if target is None:
        os.close(source)

    def undo() -> None:
        os.dup2(saved, fd)
        os.close(saved)

    return undo
