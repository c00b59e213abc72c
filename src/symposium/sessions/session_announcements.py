"""Announce session events on the bus, so that lists need not ask the session server."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, Protocol, Self

from localio.text import one_line
from symposium.bus.client import BusClient
from symposium.bus.errors import BusError
from symposium.bus.messages.announcements import SessionNoted
from symposium.bus.messages.tasks import NoteKind

MAX_NOTES: Final = 100
"""Notes that wait for a connection; the oldest are dropped."""

TEXT_WIDTH: Final = 200
"""Longest text of a note, in characters."""

FLUSH_TIME: Final = 1.0
"""Timeout in seconds for the last notes when the session ends."""

RETRY: Final = 1.0
"""Delay in seconds before a failed note is sent again."""

_KINDS: Final = {
    "started": (NoteKind.STARTED, "agent"),
    "question": (NoteKind.ASKED, "title"),
    "settled": (NoteKind.SETTLED, "question"),
    "prompt": (NoteKind.TURN_STARTED, "text"),
    "result": (NoteKind.TURN_ENDED, "stopReason"),
}
"""Announced events, and the member of each that becomes the text."""

_log = logging.getLogger(__name__)


class Notes(Protocol):
    """Port to announce the events of a session."""

    async def __aenter__(self) -> object:
        """Start announcing; the bus is connected."""
        ...

    async def __aexit__(self, *error: object) -> None:
        """Announce the end of the session."""
        ...

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Announce a recorded event."""
        ...

    def login(self, reason: str) -> None:
        """The session ends because the agent requires a login."""
        ...


class NoNotes:
    """Announce nothing: for a session without a task."""

    async def __aenter__(self) -> object:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Do nothing."""

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Do nothing."""
        del seq, kind, data

    def login(self, reason: str) -> None:
        """Do nothing."""
        del reason


class BusNotes:
    """Announce events over the bus; send each note until it is delivered.

    Args:
        session: its id.
        bus: entered and exited by its owner, outside of this block.
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
        await self._tasks.__aenter__()
        self._worker = self._tasks.create_task(self._work())
        return self

    async def __aexit__(self, *error: object) -> None:
        """Announce the end, if the bus accepts it in time."""
        self._worker.cancel()
        await self._tasks.__aexit__(None, None, None)
        self._add(NoteKind.LOGIN if self._login else NoteKind.EXITED, self._login)
        try:
            async with asyncio.timeout(FLUSH_TIME):
                await self._send_all()
        except (TimeoutError, BusError) as problem:
            _log.info("could not send the last notes of the session: %s", problem)

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Announce an event if lists depend on its kind."""
        self._seq = seq
        if kind in _KINDS:
            note, member = _KINDS[kind]
            self._add(note, str(data.get(member, "")))

    def login(self, reason: str) -> None:
        """Announce a required login instead of the exit."""
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
                _log.info("could not send a session note, retrying: %s", error)
                self._is_waiting.set()
                await asyncio.sleep(RETRY)

    async def _send_all(self) -> None:
        while self._waiting:
            note = self._waiting[0]
            await self._bus.post(note)
            # The queue may have dropped it meanwhile.
            if self._waiting and self._waiting[0] is note:
                self._waiting.popleft()
