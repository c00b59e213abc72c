"""Bytes to lines, with a bound: data in, complete lines out. No I/O, no JSON."""

from dataclasses import dataclass
from typing import Final

MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes of the longest line we carry (acp-host §7.3, T14); real agents send half a megabyte."""

HEAD: Final = 256
"""Bytes kept of a line that is too long, to find out whom to tell."""


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line beyond the limit; its bytes are gone but for the head."""

    head: bytes
    limit: int


class LineSplitter:
    """Cuts a byte stream at newlines; a line may come in any number of pieces.

    A lone `\\r` is part of a line; one before the newline is white space to JSON. Empty lines are dropped.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    @property
    def held(self) -> int:
        """Bytes kept of a line that is not complete yet."""
        return self._held

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """All lines that `data` completes, in order, without their newlines."""
        end = data.rfind(b"\n")
        if end < 0:
            return self._hold(data)
        whole = data[:end]
        lines: list[bytes | Overlong] = []
        if self._parts or self._skipping:
            first, _, whole = whole.partition(b"\n")
            lines += self._complete(first)
        if len(whole) > self._limit:
            lines += [self._bounded(line) for line in whole.split(b"\n") if line]
        else:
            lines += [line for line in whole.split(b"\n") if line]
        if end + 1 < len(data):
            lines += self._hold(data[end + 1 :])
        return lines

    def finish(self) -> list[bytes | Overlong]:
        """What is left when the stream ends without a newline."""
        return self._complete(b"")

    def _bounded(self, line: bytes) -> bytes | Overlong:
        return line if len(line) <= self._limit else Overlong(line[:HEAD], self._limit)

    def _complete(self, last: bytes) -> list[bytes | Overlong]:
        lines = self._hold(last)
        if self._skipping:
            self._skipping = False
            return lines
        line = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return [line] if line else []

    def _hold(self, part: bytes) -> list[bytes | Overlong]:
        if self._skipping:
            return []
        self._parts.append(part)
        self._held += len(part)
        if self._held <= self._limit:
            return []
        head = b"".join(self._parts)[:HEAD]
        self._parts.clear()
        self._held = 0
        self._skipping = True
        return [Overlong(head, self._limit)]
