"""For tests of whatever speaks over a transport: a listener to ask, and pipes to try it on."""

import asyncio
import os
from collections.abc import Callable, Sequence

from peerwire.jsonrpc.codec import MAX_LINE, Overlong
from peerwire.transports.fd import FdTransport


class LineRecorder:
    """A listener that remembers what it was told, and wakes whoever waits for more of it."""

    def __init__(self) -> None:
        self.lines: list[bytes | Overlong] = []
        self.pauses = 0
        self.resumes = 0
        self.ends: list[Exception | None] = []
        self.on_lines: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None
        self._told = asyncio.Event()

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Remember the lines."""
        self.lines += lines
        self._told.set()
        if self.on_lines is not None:
            self.on_lines()

    def writing_paused(self) -> None:
        """Count it."""
        self.pauses += 1
        self._told.set()

    def writing_resumed(self) -> None:
        """Count it."""
        self.resumes += 1
        self._told.set()
        if self.on_resume is not None:
            self.on_resume()

    def ended(self, error: Exception | None) -> None:
        """Remember it."""
        self.ends.append(error)
        self._told.set()

    async def until(self, claim: Callable[[], bool]) -> None:
        """Wait until what was told makes the claim true."""
        while not claim():
            self._told.clear()
            await self._told.wait()

    async def received(self, count: int) -> list[bytes | Overlong]:
        """The lines, when there are `count` of them."""
        await self.until(lambda: len(self.lines) >= count)
        return self.lines

    async def paused(self, times: int) -> None:
        """Wait until it was told that often that its peer is slow."""
        await self.until(lambda: self.pauses >= times)

    async def end(self) -> Exception | None:
        """What ended it, when it has."""
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
