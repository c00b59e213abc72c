"""For tests: connected pairs, a line peer, and a recording listener."""

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
"""Seconds a record waits for what should come; a test that needs more is broken."""

Item = TypeVar("Item")


class Recorder(Generic[Item]):
    """Record events in order and wake tests that wait for them, so that no test sleeps."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._news = asyncio.Event()

    def note(self, item: Item) -> None:
        """Add what came."""
        self.items.append(item)
        self._news.set()

    async def until(self, predicate: Callable[[list[Item]], bool]) -> list[Item]:
        """Everything so far, once it is as `predicate` wants it.

        Raises:
            AssertionError: it did not become so; the message shows what came instead.
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
        """Everything so far, once it is `number` items or more."""
        return await self.until(lambda items: len(items) >= number)


class LinePeer:
    """The bare other end of a transport: writes given bytes, and records everything it reads."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.lines: Recorder[bytes | OversizedLine] = Recorder()
        self.ends: Recorder[Exception | None] = Recorder()
        transport.start(self)

    def write(self, *lines: bytes) -> None:
        """Write these lines, in one turn of the loop."""
        for line in lines:
            self.transport.send(line)

    async def read(self, number: int) -> list[Any]:
        """The first `number` lines, decoded."""
        lines = await self.lines.count(number)
        return [decode_value(line) for line in lines if isinstance(line, bytes)]

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Record them."""
        for line in lines:
            self.lines.note(line)

    def writing_paused(self) -> None:
        """Go on: a test writes what it means to."""

    def writing_resumed(self) -> None:
        """Do nothing: no write was pending."""

    def ended(self, error: Exception | None) -> None:
        self.ends.note(error)


@asynccontextmanager
async def running(connection: Connection) -> AsyncGenerator[Connection, None]:
    """A connection that runs inside the block and has ended after it."""
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
    """Two connections that run and are each other's peer; both have ended after the block."""
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
    """A connection that runs, and the peer through which a test writes to it any bytes at all."""
    near, far = memory_pair(limit=limit)
    async with running(Connection(near, handlers or Handlers())) as connection:
        yield connection, LinePeer(far)


class LineRecorder:
    """A listener that records its events, and wakes tests that wait for more."""

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
        """Wait until the recorded events make the claim true."""
        while not claim():
            self._told.clear()
            await self._told.wait()

    async def received(self, count: int) -> list[bytes | OversizedLine]:
        """The lines, when there are `count` of them."""
        await self.until(lambda: len(self.lines) >= count)
        return self.lines

    async def paused(self, times: int) -> None:
        """Wait until that many reports of a slow peer."""
        await self.until(lambda: self.pauses >= times)

    async def end(self) -> Exception | None:
        """Wait for the end; the error that caused it, if any."""
        await self.until(lambda: bool(self.ends))
        (error,) = self.ends
        return error


def pipe_pair(*, limit: int = MAX_LINE) -> tuple[FdTransport, FdTransport]:
    """Two transports joined by two pipes; neither is started. Call it while a loop runs."""
    (ours_in, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()
    ours = FdTransport(ours_in, ours_out, limit=limit)
    return ours, FdTransport(theirs_in, theirs_out, limit=limit)


async def everything_served() -> None:
    """Wait until the loop has served all descriptors that were ready by now.

    A line goes through pipes of its own, which the loop serves in the same turns as all others.
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
