"""Announce on the bus what happens in a session, so that lists need not ask its server."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, Protocol, Self

from localio.text import one_line
from symposium.bus.client import BusClient
from symposium.bus.errors import BusError
from symposium.bus.messages.changes import SessionNoted
from symposium.bus.messages.tasks import NoteKind

MAX_NOTES: Final = 100
"""Notes that wait for a connection; the newest are kept."""

TEXT_WIDTH: Final = 200
"""Characters of the text of a note."""

FLUSH_TIME: Final = 1.0
"""Seconds in which the last notes are sent when the session ends."""

RETRY: Final = 1.0
"""Seconds before a note is sent again that the bus did not take."""

_KINDS: Final = {
    "started": (NoteKind.STARTED, "agent"),
    "question": (NoteKind.ASKED, "title"),
    "settled": (NoteKind.SETTLED, "question"),
    "prompt": (NoteKind.TURN_STARTED, "text"),
    "result": (NoteKind.TURN_ENDED, "stopReason"),
}
"""Events that are announced, and the member of each that is the text."""

_log = logging.getLogger(__name__)


class Notes(Protocol):
    """Takes what happens in a session."""

    async def __aenter__(self) -> object:
        """Begin to announce; the bus is connected."""
        ...

    async def __aexit__(self, *error: object) -> None:
        """The session ends."""
        ...

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """An event was recorded."""
        ...

    def login(self, reason: str) -> None:
        """The session ends because the agent wants a login."""
        ...


class NoNotes:
    """Announces nothing: for the session of no task."""

    async def __aenter__(self) -> object:
        """Nothing."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Nothing."""

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Nothing."""
        del seq, kind, data

    def login(self, reason: str) -> None:
        """Nothing."""
        del reason


class BusNotes:
    """Announces over the bus, each note until it was delivered.

    Args:
        session: its id.
        bus: entered by whoever owns it, before this and left after it.
    """

    def __init__(self, session: str, bus: BusClient) -> None:
        self._session = session
        self._bus = bus
        self._seq = 0
        self._login = ""
        self._waiting: deque[SessionNoted] = deque(maxlen=MAX_NOTES)
        self._is_waiting = asyncio.Event()
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Begin to announce."""
        await self._tasks.__aenter__()
        self._worker = self._tasks.create_task(self._work())
        return self

    async def __aexit__(self, *error: object) -> None:
        """Announce the end, as far as the bus takes it in time."""
        self._worker.cancel()
        await self._tasks.__aexit__(None, None, None)
        self._add(NoteKind.LOGIN if self._login else NoteKind.EXITED, self._login)
        try:
            async with asyncio.timeout(FLUSH_TIME):
                await self._send_all()
        except (TimeoutError, BusError) as problem:
            _log.info("the last notes of the session were not sent: %s", problem)

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Announce an event, if it is one of those that lists depend on."""
        self._seq = seq
        if kind in _KINDS:
            note, member = _KINDS[kind]
            self._add(note, str(data.get(member, "")))

    def login(self, reason: str) -> None:
        """Announce a login in place of a mere end."""
        self._login = reason

    def _add(self, kind: NoteKind, text: str) -> None:
        short = one_line(text, width=TEXT_WIDTH)
        note = SessionNoted(session=self._session, seq=self._seq, kind=kind, text=short)
        self._waiting.append(note)
        self._is_waiting.set()

    async def _work(self) -> None:
        while True:
            await self._is_waiting.wait()
            self._is_waiting.clear()
            try:
                await self._send_all()
            except BusError as error:
                _log.info("a note of the session waits: %s", error)
                self._is_waiting.set()
                await asyncio.sleep(RETRY)

    async def _send_all(self) -> None:
        while self._waiting:
            note = self._waiting[0]
            await self._bus.post(note)
            # It may have been dropped meanwhile, as the oldest of too many.
            if self._waiting and self._waiting[0] is note:
                self._waiting.popleft()
