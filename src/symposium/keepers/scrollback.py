"""The end of what a terminal has shown: what somebody who attaches sees first."""

from collections import deque
from typing import Final

LONGEST: Final = 1024 * 1024
"""Bytes that are kept."""


class Scrollback:
    """A bounded end of a stream of bytes.

    Args:
        longest: bytes that are kept.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: deque[bytes] = deque()
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Append what was shown."""
        self._pieces.append(piece)
        self._size += len(piece)
        while self._size - len(self._pieces[0]) > self._longest:
            self._size -= len(self._pieces.popleft())

    def end(self) -> bytes:
        """The last bytes, from a line's beginning where something was left out."""
        whole = b"".join(self._pieces)
        if len(whole) <= self._longest:
            return whole
        kept = whole[-self._longest :]
        return kept[kept.find(b"\n") + 1 :]
