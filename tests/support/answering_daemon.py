"""Daemon with given answers, in a thread of the test: it records what a command asks."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.in_process_daemon import daemon_of

from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.protocol import Announcement, BusMessage, BusReply, BusRequest
from symposium.daemon.part import LocalPeer


class AnsweringPart:
    """Answers each request with a fixed reply, or with the result of a function.

    Attributes:
        asked: the received requests, in order.
        progress: reports that precede each reply: text, done, and total.
    """

    def __init__(self, replies: dict[type[BusRequest[Any]], Any]) -> None:
        self._replies = replies
        self._bus: LocalPeer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.asked: list[BusMessage] = []
        self.progress: list[tuple[str, float | None, float | None]] = []

    def set(self, kind: type[BusRequest[Any]], reply: BusReply | Callable[[Any], Any]) -> None:
        """Change the reply to a request that has one."""
        assert kind in self._replies, kind
        self._replies[kind] = reply

    def took(self, kind: type[BusMessage]) -> list[Any]:
        """Return the received requests of one class."""
        return [each for each in self.asked if isinstance(each, kind)]

    def last(self) -> BusMessage:
        """Return the last received request."""
        return self.asked[-1]

    def announce(self, message: Announcement) -> None:
        """Send an announcement to the subscribers."""
        assert self._bus is not None
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._bus.announce, message)

    def answers(self) -> HandlerTable:
        table = HandlerTable()
        for kind in self._replies:
            table.on_request(kind, self._answer)
        return table

    async def run(self, bus: LocalPeer) -> None:
        self._bus, self._loop = bus, asyncio.get_running_loop()
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        return True

    async def _answer(self, message: BusRequest[Any], asked: RequestContext) -> Any:
        self.asked.append(message)
        for text, done, total in self.progress:
            asked.progress(text, done=done, total=total)
        reply = self._replies[type(message)]
        return reply if isinstance(reply, BusReply) else await reply(message)


@contextmanager
def answering(
    replies: dict[type[BusRequest[Any]], Any], folder: Path
) -> Generator[tuple[AnsweringPart, Path]]:
    """Run the daemon while the block runs; return its part and its socket."""
    part = AnsweringPart(replies)
    ready, places = threading.Event(), list[Path]()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(over.set))
        async with daemon_of(part, folder) as settings:
            assert settings.daemon.socket is not None
            places.append(settings.daemon.socket)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    try:
        assert ready.wait(10)
        yield part, places[0]
    finally:
        stop[0]()
        thread.join()
