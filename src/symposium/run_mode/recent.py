"""The latest lines that a chain has written for the editor: kept by the read, looked at later."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from peerwire.jsonrpc.transport import Overlong

MOST_RECENT: Final = 400
"""Lines that are kept for a summary of what the agent has said last; the reads that hold them."""

LONGEST_RECENT: Final = 4096
"""Bytes of the longest of them: what is longer is no piece of a text."""


class Recent:
    """Store each read unchanged: a stream costs next to nothing per line.

    Attributes:
        reads: how many there have been.
    """

    def __init__(self) -> None:
        self.reads = 0
        self._kept: deque[Sequence[bytes]] = deque()
        self._count = 0

    def take(self, lines: Sequence[bytes | Overlong]) -> None:
        """Keep what a read gave."""
        pieces = [line for line in lines if type(line) is bytes and len(line) <= LONGEST_RECENT]
        self.reads += 1
        self._kept.append(pieces)
        self._count += len(pieces)
        while self._count - len(self._kept[0]) >= MOST_RECENT:
            self._count -= len(self._kept.popleft())

    def since(self, reads: int) -> Iterator[bytes]:
        """The lines that are kept of those after so many reads, in order."""
        first = self.reads - len(self._kept)
        for number, lines in enumerate(self._kept, first):
            if number >= reads:
                yield from lines
