"""Test support: connected pairs, a peer that sends raw lines, and recorders of events."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, TypeVar

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.jsonrpc.transport import MAX_LINE, OversizedLine, Transport
from peerwire.jsonrpc.values import decode_value
from peerwire.transports.fd import FdTransport
from peerwire.transports.memory import memory_pair

TEST_TIMEOUT: Final = 5.0
"""Timeout in seconds for an expected event."""

Item = TypeVar("Item")


class Recorder(Generic[Item]):
    """Record events in order, and let tests wait for them without sleeping."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._news = asyncio.Event()

    def note(self, item: Item) -> None:
        """Add an event and wake the callers of `until`."""
        self.items.append(item)
        self._news.set()

    async def until(self, predicate: Callable[[list[Item]], bool]) -> list[Item]:
        """Return all events when `predicate` is true for them.

        Raises:
            AssertionError: the wait timed out; the message shows the events.
        """
        try:
            async with asyncio.timeout(TEST_TIMEOUT):
                while not predicate(self.items):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError as error:
            raise AssertionError(f"waited in vain; so far came {self.items!r}") from error
        return self.items

    async def count(self, number: int) -> list[Item]:
        """Return all events when there are at least `number`."""
        return await self.until(lambda items: len(items) >= number)


class LinePeer:
    """Peer of a transport that writes raw lines and records the lines it reads."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.lines: Recorder[bytes | OversizedLine] = Recorder()
        self.ends: Recorder[Exception | None] = Recorder()
        transport.start(self)

    def write(self, *lines: bytes) -> None:
        """Write these lines, in one loop iteration."""
        for line in lines:
            self.transport.send(line)

    async def read(self, number: int) -> list[Any]:
        """Return the first lines, decoded, when there are at least `number`."""
        lines = await self.lines.count(number)
        return [decode_value(line) for line in lines if isinstance(line, bytes)]

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            self.lines.note(line)

    def writing_paused(self) -> None:
        """Do nothing: a test may exceed the backlog."""

    def writing_resumed(self) -> None:
        """Do nothing: writes were not paused."""

    def ended(self, error: Exception | None) -> None:
        self.ends.note(error)


@asynccontextmanager
async def running(connection: Connection) -> AsyncGenerator[Connection, None]:
    """Run a connection during the block, and close it afterwards."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(connection.run())
        try:
            yield connection
        finally:
            connection.close()


@asynccontextmanager
async def connected_pair(
    near: Handlers | None = None, far: Handlers | None = None, *, limit: int = MAX_LINE
) -> AsyncGenerator[tuple[Connection, Connection], None]:
    """Run two connected connections during the block, and close them afterwards."""
    one, two = memory_pair(limit=limit)
    async with (
        running(Connection(one, near or Handlers())) as first,
        running(Connection(two, far or Handlers())) as second,
    ):
        yield first, second


@asynccontextmanager
async def facing_bytes(
    handlers: Handlers | None = None, *, limit: int = MAX_LINE
) -> AsyncGenerator[tuple[Connection, LinePeer], None]:
    """Run a connection during the block, with a peer that writes arbitrary bytes."""
    near, far = memory_pair(limit=limit)
    async with running(Connection(near, handlers or Handlers())) as connection:
        yield connection, LinePeer(far)


class LineRecorder:
    """Listener that records its events, and lets tests wait for them."""

    def __init__(self) -> None:
        self.lines: list[bytes | OversizedLine] = []
        self.pauses = 0
        self.resumes = 0
        self.ends: list[Exception | None] = []
        self.on_lines: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None
        self._told = asyncio.Event()

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        self.lines += lines
        self._told.set()
        if self.on_lines is not None:
            self.on_lines()

    def writing_paused(self) -> None:
        self.pauses += 1
        self._told.set()

    def writing_resumed(self) -> None:
        self.resumes += 1
        self._told.set()
        if self.on_resume is not None:
            self.on_resume()

    def ended(self, error: Exception | None) -> None:
        self.ends.append(error)
        self._told.set()

    async def until(self, claim: Callable[[], bool]) -> None:
        """Wait until `claim` returns True for the recorded events."""
        while not claim():
            self._told.clear()
            await self._told.wait()

    async def received(self, count: int) -> list[bytes | OversizedLine]:
        """Return the lines when there are at least `count`."""
        await self.until(lambda: len(self.lines) >= count)
        return self.lines

    async def paused(self, times: int) -> None:
        """Wait until `writing_paused` was called at least `times` times."""
        await self.until(lambda: self.pauses >= times)

    async def end(self) -> Exception | None:
        """Wait for the end of the stream; return its error, if any."""
        await self.until(lambda: bool(self.ends))
        (error,) = self.ends
        return error


def pipe_pair(*, limit: int = MAX_LINE) -> tuple[FdTransport, FdTransport]:
    """Return two transports, connected by two pipes and not started.

    Call it while an event loop runs.
    """
    (ours_in, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()
    ours = FdTransport(ours_in, ours_out, limit=limit)
    return ours, FdTransport(theirs_in, theirs_out, limit=limit)


async def everything_served() -> None:
    """Wait until the loop has served all descriptors that are ready now.

    It sends lines through new pipes, which the loop serves in the same iterations as all others.
    """
    ours, theirs = pipe_pair()
    seen = LineRecorder()
    ours.start(LineRecorder())
    theirs.start(seen)
    try:
        for count in range(1, 4):
            ours.send(b"{}")
            await seen.received(count)
    finally:
        ours.close()
        theirs.close()
