"""The transport and listener ports, and the bounded line splitter. No I/O, no JSON."""

from codecs import utf_8_decode
from collections.abc import Sequence
from io import BytesIO
from typing import Final, Protocol, runtime_checkable

from msgspec import Raw, Struct

MAX_LINE: Final = 64 * 1024 * 1024
"""Maximum bytes of a line (acp-host §7.3, T14); real agents send half a megabyte."""

HEAD: Final = 256
"""Bytes kept of each end of an oversized line, to find its id."""

BOM: Final = b"\xef\xbb\xbf"
"""Byte order mark, which some programs write before their first line (RFC 8259 §8.1)."""


LARGE: Final = 256 * 1024
"""Length from which a line's UTF-8 is checked while the rest is still arriving."""


class _LastChecked:
    line: bytes | None = None
    """The last checked line; a subclass of bytes as a mark would require a copy."""


def was_checked(line: bytes) -> bool:
    """Whether the UTF-8 of this object was checked while it was received.

    Returns True once, and then releases the line. After False, the caller must check the line.
    """
    if line is not _LastChecked.line:
        return False
    _LastChecked.line = None
    return True


class OversizedLine(Struct, frozen=True):
    """A line beyond the limit; only its two ends are kept."""

    head: bytes
    limit: int
    tail: bytes = b""


class LineSplitter:
    r"""Split a byte stream into lines; a line may arrive in several pieces.

    A lone `\r` is part of a line; one before the newline is white space in JSON. Empty lines are
    dropped. An oversized line is truncated, and returned when it ends, in order.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._start_line()
        self._head = b""
        self._tail = b""
        self._at_start = True

    @property
    def held(self) -> int:
        """Bytes buffered of an incomplete line."""
        return self._held

    def feed(self, data: bytes) -> list[bytes | OversizedLine]:
        """Return all lines that `data` completes, in order, without newlines."""
        if self._at_start:
            data = self._without_bom(data)
        first = data.find(b"\n")
        if first < 0:
            self._hold(data)
            if self._held > LARGE:
                self._check()
            return []
        if 0 < first == len(data) - 1 <= self._limit and not self._held and not self._head:
            return [data[:first]]
        end = data.rfind(b"\n")
        whole = data[:end]
        lines: list[bytes | OversizedLine] = []
        if self._held or self._head:
            last, _, whole = whole.partition(b"\n")
            lines += self._complete(last)
        if len(whole) > self._limit:
            lines += [self._bounded(line) for line in whole.split(b"\n") if line]
        else:
            lines += [line for line in whole.split(b"\n") if line]
        self._hold(data[end + 1 :])
        return lines

    def finish(self) -> list[bytes | OversizedLine]:
        """Return the rest if the stream ended without a newline."""
        return self._complete(b"")

    def _without_bom(self, data: bytes) -> bytes:
        start = self._line.getvalue() + data
        if len(start) < len(BOM) and BOM.startswith(start):
            return data
        self._at_start = False
        if not start.startswith(BOM):
            return data
        self._start_line()
        return start.removeprefix(BOM)

    def _bounded(self, line: bytes) -> bytes | OversizedLine:
        if len(line) <= self._limit:
            return line
        return OversizedLine(line[:HEAD], self._limit, line[-HEAD:])

    def _complete(self, last: bytes) -> list[bytes | OversizedLine]:
        self._hold(last)
        is_utf8 = self._checked and self._check() and self._checked == self._held
        # `getvalue` of a full buffer does not copy the line.
        line: bytes | OversizedLine = self._line.getvalue()
        if self._head:
            line = OversizedLine(self._head, self._limit, self._tail)
        self._start_line()
        self._head = self._tail = b""
        if is_utf8 and isinstance(line, bytes):
            _LastChecked.line = line
        return [line] if line else []

    def _check(self) -> bool:
        """Check the bytes since the last check; return whether all bytes so far are UTF-8."""
        if self._is_utf8:
            with self._line.getbuffer() as held:
                try:
                    _, taken = utf_8_decode(held[self._checked :], "strict", False)  # noqa: FBT003 - positional only
                except UnicodeDecodeError:
                    self._is_utf8 = False
                else:
                    self._checked += taken
        return self._is_utf8

    def _start_line(self) -> None:
        self._line = BytesIO()
        self._held = self._checked = 0
        self._is_utf8 = True

    def _hold(self, part: bytes) -> None:
        if self._head:
            self._tail = (self._tail + part[-HEAD:])[-HEAD:]
            return
        if part:
            self._held += self._line.write(part)
        if self._held > self._limit:
            with self._line.getbuffer() as line:
                self._head, self._tail = bytes(line[:HEAD]), bytes(line[-HEAD:])
            self._start_line()


HIGH_WATER: Final = 64 * 1024
"""Backlog in bytes above which a peer counts as slow."""

LOW_WATER: Final = 16 * 1024
"""Backlog in bytes below which a slow peer has caught up."""


class Listener(Protocol):
    """Receiver of a transport's events; every call is synchronous and must not block."""

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Handle lines, in the order the peer wrote them."""
        ...

    def writing_paused(self) -> None:
        """Called when the backlog exceeds `HIGH_WATER` bytes, and whenever it grows further."""
        ...

    def writing_resumed(self) -> None:
        """Called when the backlog is below `LOW_WATER` bytes again."""
        ...

    def ended(self, error: Exception | None) -> None:
        """Called once, at the end of the stream, with the error if it broke."""
        ...


class Transport(Protocol):
    """Lines to and from one peer. Nothing is read before `start`."""

    @property
    def backlog(self) -> int:
        """Sent bytes that the peer has not read yet."""
        ...

    def start(self, listener: Listener) -> None:
        """Start reading, on the running event loop."""
        ...

    def send(self, line: bytes) -> None:
        """Queue one line without newline; written at the end of this loop iteration."""
        ...

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`; the peer's pipe fills up."""
        ...

    def resume_reading(self) -> None:
        """Deliver lines again after `pause_reading`."""
        ...

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark, or the transport has ended."""
        ...

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Write queued lines for at most `grace` seconds, then close both directions."""
        ...


@runtime_checkable
class PiecewiseTransport(Protocol):
    """Transport that writes a line given in pieces without joining them."""

    def send_pieces(self, pieces: Sequence[bytes | Raw]) -> None:
        """Queue one line without newline, after all lines sent before."""
        ...
