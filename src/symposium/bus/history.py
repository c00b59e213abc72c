"""What has passed, within two bounds; secrets are taken out when somebody looks (bus §7, row 5)."""

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from localio.redaction import Redactor
from symposium.bus.shapes import Logged

MOST_MESSAGES: Final = 1024
"""Messages that are remembered (bus §1.1)."""

KEPT: Final = 16 * 1024
"""Bytes kept of one line, and so 16 MiB of all: a few walkthroughs of megabytes would be more."""


class Passed(NamedTuple):
    """One message as it passed.

    Attributes:
        at: seconds since the epoch.
        connection: who sent it.
        name: what that called itself.
        is_legacy: whether it went to every peer of version 1.
        size: bytes of the whole line.
        line: what is kept of it.
    """

    at: float
    connection: str
    name: str
    is_legacy: bool
    size: int
    line: bytes

    @property
    def type(self) -> str:
        """Its message type; empty if it had none, or its line was cut."""
        try:
            return _read_type(self.line).type
        except (msgspec.DecodeError, RecursionError):
            return ""


_Entry: TypeAlias = tuple[float, str, str, bool, int, bytes]


class _Typed(Struct):
    type: str = ""


_read_type: Final = msgspec.json.Decoder(_Typed).decode


class History:
    """The last messages, at most `messages`; 0 turns it off."""

    def __init__(self, redactor: Redactor | None = None, *, messages: int = MOST_MESSAGES) -> None:
        self._redactor = redactor or Redactor()
        self._entries: deque[_Entry] = deque(maxlen=messages)

    def __iter__(self) -> Iterator[Passed]:
        return (Passed(*each) for each in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, at: float, by: str, name: str, line: bytes, *, is_legacy: bool) -> None:
        """Remember one, of a long one the beginning, and forget what there is no room for."""
        size = len(line)
        if size > KEPT:
            line = line[:KEPT]
        # A plain tuple: this runs for every message, and anything else takes five times longer.
        self._entries.append((at, by, name, is_legacy, size, line))

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


def passed_by(at: float, by: str, name: str, line: bytes, *, is_legacy: bool) -> Passed:
    """A message as it is remembered: of a long one the beginning."""
    return Passed(at, by, name, is_legacy, len(line), line[:KEPT])
