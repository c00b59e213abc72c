"""What has passed, within two bounds; secrets are taken out when somebody looks (bus §7, row 5)."""

from collections import deque
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from symposium.bus.shapes import Logged
from symposium.redaction import Redactor

MOST_MESSAGES: Final = 1024
"""Messages that are remembered (bus §1.1)."""

MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of them in all; the oldest go first."""

KEPT: Final = 16 * 1024
"""Bytes kept of one line: a walkthrough of megabytes would be all that is remembered."""


class Passed(Struct, frozen=True, gc=False):
    """One message as it passed; the line may be cut.

    Attributes:
        at: seconds since the epoch.
        connection: who sent it.
        name: what that called itself.
        size: bytes of the whole line.
        line: what is kept of it.
        type: its message type; empty if it had none.
        taskspace: where its sender stood.
        is_legacy: whether it went to every peer of version 1.
    """

    at: float
    connection: str
    name: str
    size: int
    line: bytes
    type: str = ""
    taskspace: str | None = None
    is_legacy: bool = False


class History:
    """The last messages; `messages` and `size` bound it, and 0 messages turn it off."""

    def __init__(
        self,
        redactor: Redactor | None = None,
        *,
        messages: int = MOST_MESSAGES,
        size: int = MOST_BYTES,
    ) -> None:
        self._redactor = redactor or Redactor()
        self._entries: deque[Passed] = deque()
        self._messages = messages
        self._most = size
        self._size = 0

    def __iter__(self) -> Iterator[Passed]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Bytes kept."""
        return self._size

    def add(self, passed: Passed) -> None:
        """Remember one, and forget what there is no room for."""
        entries = self._entries
        entries.append(passed)
        self._size += len(passed.line)
        while len(entries) > self._messages or self._size > self._most:
            self._size -= len(entries.popleft().line)

    def logged(self, passed: Passed) -> Logged:
        """One of them as it may be shown."""
        line = passed.line
        if len(line) == passed.size:
            text = self._redactor.json(line).decode(errors="replace")
        else:
            text = self._redactor.text(line.decode(errors="replace"))
        return Logged(
            at=passed.at, by=passed.connection, name=passed.name, size=passed.size, line=text
        )


def kept(line: bytes) -> bytes:
    """What is remembered of a line."""
    return line if len(line) <= KEPT else bytes(line[:KEPT])
