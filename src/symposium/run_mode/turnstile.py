"""Hold or release messages, in order, per session. No I/O."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from msgspec import Struct

EVERYTHING: Final = ""
"""Key that closes it for all sessions of a chain."""


class _Held(Struct, frozen=True):
    session: str | None
    size: int
    go: Callable[[], None]


class Turnstile:
    """One direction between the editor and a chain.

    It is closed for a session while its menu is open, and for sessions that the
    editor has asked for and does not know yet.

    Attributes:
        is_idle: everything passes.
        size: bytes that are kept.
    """

    def __init__(self, on_size: Callable[[int], None] | None = None) -> None:
        self.is_idle = True
        self.size = 0
        self._on_size = on_size
        self._closed: Counter[str] = Counter()
        self._held: list[_Held] = []
        self._expected = 0
        self._known: set[str] = set()

    def close(self, scope: str) -> None:
        """Keep what comes for this session, or for `EVERYTHING`; closings are counted."""
        self._closed[scope] += 1
        self.is_idle = False

    def open(self, scope: str) -> None:
        """Undo one `close`; release the held messages in order."""
        if self._closed[scope] > 1:
            self._closed[scope] -= 1
        else:
            del self._closed[scope]
            self._flush()

    def open_all(self) -> None:
        """Undo every `close`, after the chain has ended."""
        self._closed.clear()
        self._expected = 0
        self._flush()

    def expect(self) -> None:
        """A session is being made: what comes for one that is not known waits."""
        self._expected += 1
        self.is_idle = False

    def expected(self, session: str | None) -> None:
        """Register the expected session, or (None) that it will not open."""
        self._expected = max(0, self._expected - 1)
        if session is not None:
            self._known.add(session)
        self._flush()

    def know(self, session: str) -> None:
        """A session that the editor has named itself."""
        self._known.add(session)

    def forget(self, session: str) -> None:
        """A session has ended."""
        self._known.discard(session)

    def keeps(self, session: str | None, size: int, go: Callable[[], None]) -> bool:
        """Keep a message if it may not pass yet; whether it was."""
        if self.is_idle or not self._must_wait(session):
            return False
        self._keep(_Held(session, size, go))
        self._tell_size()
        return True

    def _must_wait(self, session: str | None) -> bool:
        if EVERYTHING in self._closed:
            return True
        if session is None:
            return False
        return session in self._closed or (self._expected > 0 and session not in self._known)

    def _keep(self, held: _Held) -> None:
        self._held.append(held)
        self.size += held.size

    def _flush(self) -> None:
        waiting, self._held = self._held, []
        self.size = 0
        for held in waiting:
            if self._must_wait(held.session):
                self._keep(held)
            else:
                held.go()
        self.is_idle = not (self._closed or self._expected or self._held)
        self._tell_size()

    def _tell_size(self) -> None:
        if self._on_size is not None:
            self._on_size(self.size)
