"""The events of a session: stored on disk and sent to viewers."""

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Raw

from localio.redaction import Redactor
from peerwire.errors import invalid_params
from peerwire.jsonrpc.handlers import Request
from peerwire.jsonrpc.values import as_object, decode_value, encode_value
from symposium.sessions.client import EVENT
from symposium.sessions.server import Viewer

VERSION: Final = 1
"""Version of the envelope."""

REMEMBERED: Final = 4 * 1024 * 1024
"""Bytes of recent events for viewers that connect later."""

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of the file in bytes; it is then rotated, and one old file is kept."""


class EventLog:
    """The events of one session; `seq` increases without gaps, also across restarts.

    Args:
        directory: of the session.
        session: its id.
        secrets: values that the file must not contain.
    """

    def __init__(self, directory: Path, session: str, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)
        self._file = directory / "events.jsonl"
        self._session = session
        self._recent: deque[bytes] = deque()
        self._size = 0
        self.seq = 0
        self._end = _missing_end(self._file)
        for line in self._lines():
            self._remember(line)
            self.seq = decode_value(line)["seq"]

    def add(self, kind: str, data: Any) -> dict[str, Any]:
        """Store and return an event.

        Raises:
            OSError: it cannot be written.
        """
        self.seq += 1
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        event = {"v": VERSION, "seq": self.seq, "ts": now, "type": kind}
        event |= {"session": self._session, "taskspace": self._session, "data": data}
        line = encode_value({**event, "data": Raw(self._redactor.json(encode_value(data)))})
        handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, self._end + bytes(line) + b"\n")
            self._end = b""
            is_full = os.fstat(handle).st_size > MAX_EVENT_BYTES
        finally:
            os.close(handle)
        if is_full:
            self._file.replace(self._file.with_suffix(".jsonl.1"))
        self._remember(bytes(line))
        return event

    def since(self, seq: int) -> Sequence[dict[str, Any]]:
        """Recent events after that number."""
        events = [decode_value(line) for line in self._recent]
        return [event for event in events if event["seq"] > seq]

    def _remember(self, line: bytes) -> None:
        self._recent.append(line)
        self._size += len(line)
        while self._size > REMEMBERED and len(self._recent) > 1:
            self._size -= len(self._recent.popleft())

    def _lines(self) -> list[bytes]:
        lines: list[bytes] = []
        for file in (self._file.with_suffix(".jsonl.1"), self._file):
            try:
                lines += file.read_bytes().split(b"\n")[:-1]
            except FileNotFoundError:
                continue
        return [line for line in lines if _is_event(line)]


def _missing_end(file: Path) -> bytes:
    """Newline that an incomplete last line lacks."""
    try:
        with file.open("rb") as text:
            text.seek(-1, os.SEEK_END)
            return b"" if text.read() == b"\n" else b"\n"
    except OSError:
        # Missing or empty file.
        return b""


def _is_event(line: bytes) -> bool:
    """Whether a line is complete: a killed server may leave a partial last line."""
    try:
        event = decode_value(line)
    except ValueError:
        return False
    return isinstance(as_object(event).get("seq"), int)


class EventViewers:
    """The viewers of one agent.

    Args:
        events: stores the events.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._viewers: set[Viewer] = set()

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self._events.seq

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Store an event, and send it to the viewers.

        Raises:
            OSError: it cannot be stored.
        """
        event = self._events.add(kind, data)
        for viewer in tuple(self._viewers):
            viewer.notify(EVENT, event)

    def watch(self, viewer: Viewer, request: Request) -> Mapping[str, Any]:
        """Add a viewer; return the events it missed."""
        since = as_object(request.params).get("since", 0)
        if not isinstance(since, int):
            raise invalid_params("since must be the number of an event", request.params)
        self._viewers.add(viewer)
        return {"events": self._events.since(since), "seq": self._events.seq}

    def left(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)
