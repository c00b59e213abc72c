"""Session servers in this process, for tests of their clients."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request, RequestHandler
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import serve_unix
from symposium.sessions.client import ANSWER, DESCRIBE, SAY
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore

Describe = Callable[[], Coroutine[Any, Any, Any]]


class Servers:
    """Session servers in this process, each with its own socket and lock."""

    def __init__(self, store: SessionStore, directory: Path) -> None:
        self.store = store
        self._directory = directory
        self._stack = AsyncExitStack()
        self._locks: dict[str, int] = {}
        self._tasks = asyncio.TaskGroup()
        self._running: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._running:
            task.cancel()
        await self._tasks.__aexit__(None, None, None)
        await self._stack.aclose()
        for handle in self._locks.values():
            os.close(handle)

    def started(self, id_: str = "") -> str:
        """Start a session whose server does not listen yet; a new one by default."""
        id_ = id_ or str(uuid4())
        spec = SessionSpec(id_, SessionKind.ACP, ("eliza",), str(self._directory))
        self.store.add(spec)
        self._locks[id_] = self.store.lock(id_)
        return id_

    def ended(self, id_: str) -> None:
        """End a session."""
        self.store.socket(id_).unlink(missing_ok=True)
        os.close(self._locks.pop(id_))

    def hanging(self, id_: str = "") -> str:
        """Start a server that accepts connections and does not answer."""
        id_ = self.started(id_)
        listening = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(self.store.socket(id_)))
        listening.listen(8)
        return id_

    def answering(self, describe: Describe) -> str:
        """Start a server that answers."""
        id_ = self.started()
        self.answers(id_, describe)
        return id_

    def answers(
        self,
        id_: str,
        describe: Describe,
        say: Callable[[str], None] | None = None,
        decide: Callable[[Any], None] | None = None,
    ) -> None:
        """Make a session's server answer from now on.

        It takes prompts if `say` is given, and decisions on permissions if `decide` is.
        """
        self.store.socket(id_).unlink(missing_ok=True)

        async def respond(_: Request) -> Any:
            return await describe()

        def come(transport: FdTransport, uid: int) -> None:
            del uid
            requests: dict[str, RequestHandler] = {DESCRIBE: respond}
            if say is not None:
                requests[SAY] = _prompts(say)
            if decide is not None:
                requests[ANSWER] = _decisions(decide)
            connection = Connection(transport, Handlers(requests=requests))
            self._running.append(self._tasks.create_task(connection.run()))

        listener = serve_unix(self.store.socket(id_), come)
        self._stack.callback(listener.close)


def _prompts(say: Callable[[str], None]) -> RequestHandler:
    return lambda request: say(request.params["text"])


def _decisions(decide: Callable[[Any], None]) -> RequestHandler:
    return lambda request: decide(request.params)
