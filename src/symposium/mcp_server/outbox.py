"""Reports made while no daemon runs: stored at once, and sent to the next one (§7 row 10).

Each report is sent at least once: it is sent again if its answer was lost.
"""

import asyncio
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Raw, Struct

from localio.files import sync_path, write_whole
from symposium.bus.endpoint import Bus
from symposium.bus.error_codes import GONE, NO_HANDLER, TIMEOUT
from symposium.bus.errors import BusError, BusRefusedError
from symposium.bus.protocol import BusMessage, BusRequest, PayloadError, message_types, payload_of

FOLDER: Final = "outbox"

MAX_BYTES: Final = 16 * 1024 * 1024
"""Limit of waiting reports; more are refused with an error to the agent."""

LOOK_EVERY: Final = 5.0
"""Seconds between two attempts to send waiting reports."""

_log = logging.getLogger(__name__)


class QueuedReport(Struct, frozen=True):
    """Report that waits for the daemon.

    Attributes:
        type: type of the message.
        payload: payload of the message.
    """

    type: str
    payload: Raw


async def _pause() -> None:
    await asyncio.sleep(LOOK_EVERY)


class Outbox:
    """Queue file of one user's reports, shared by processes."""

    def __init__(self, home: Path) -> None:
        self._path = home / FOLDER / "reports.jsonl"

    def keep(self, message: BusMessage) -> None:
        """Store a report durably.

        Raises:
            OSError: the file cannot be written, or is full.
        """
        line = msgspec.json.encode(QueuedReport(message.about.type, payload_of(message))) + b"\n"
        with self._locked("reports.lock"), self._path.open("a+b") as file:
            size = file.tell()
            if size + len(line) > MAX_BYTES:
                raise OSError(f"{self._path} is full; start the daemon to deliver the reports")
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                # A truncated line of a crashed process or a full disk must not damage the next one.
                file.write(b"\n")
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if not size:
            # The folder may be new, so sync it, too.
            sync_path(self._path.parent)
            sync_path(self._path.parent.parent)

    @property
    def is_empty(self) -> bool:
        """Whether the queue is empty."""
        try:
            return self._path.stat().st_size == 0
        except OSError:
            return True

    def waiting(self) -> list[bytes]:
        """Queued lines, the oldest first."""
        try:
            return self._path.read_bytes().splitlines(keepends=True)
        except OSError:
            return []

    async def run(self, bus: Bus, pause: Callable[[], Awaitable[None]] = _pause) -> None:
        """Send waiting reports, now and whenever a daemon runs, until canceled."""
        while True:
            if not self.is_empty:
                await self.say(bus)
            await pause()

    async def say(self, bus: Bus) -> None:
        """Send waiting reports until none is left or no daemon accepts them."""
        try:
            with self._locked("sending.lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
                for line in self.waiting():
                    if not await _said(line, bus):
                        return
                    self._drop(line)
        except BlockingIOError:
            _log.debug("another process sends the queued reports")
        except OSError as error:
            _log.warning("cannot send the reports in %s: %s", self._path, error)

    def _drop(self, line: bytes) -> None:
        with self._locked("reports.lock"):
            rest = self._path.read_bytes().removeprefix(line)
            write_whole(self._path, rest)

    @contextmanager
    def _locked(self, name: str, kind: int = fcntl.LOCK_EX) -> Generator[None]:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self._path.with_name(name)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)


async def _said(line: bytes, bus: Bus) -> bool:
    """Whether the report was accepted, or can never be."""
    try:
        message = _read(line)
    except (msgspec.MsgspecError, PayloadError, KeyError) as error:
        _log.warning("dropped a malformed report: %s", error)
        return True
    try:
        await bus.request(message)
    except BusRefusedError as error:
        if error.code in (NO_HANDLER, TIMEOUT, GONE):
            return False
        _log.warning("dropped a refused report: %s", error)
    except BusError:
        return False
    return True


def _read(line: bytes) -> BusRequest[Any]:
    waiting = msgspec.json.decode(line, type=QueuedReport)
    message = message_types()[waiting.type].read(waiting.payload)
    if not isinstance(message, BusRequest):
        raise PayloadError(f"{waiting.type} is not a request")
    return cast("BusRequest[Any]", message)
