"""One session server in this process whose answers a test decides, for all kinds of sessions."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Reply, Request
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import serve_unix
from symposium.config.paths import paths
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore

SESSION = str(UUID(int=7 << 96))


class FakeSessionServer:
    """Answers each request with the answer of its method, and records everything.

    Attributes:
        answers: result or exception by method; a request without one gets an empty result.
        came: method and params of every request and notification, in order.
    """

    def __init__(self, store: SessionStore, answers: Mapping[str, Any]) -> None:
        self.store = store
        self.answers = dict(answers)
        self.came: list[tuple[str, Any]] = []
        self._connections: list[Connection] = []
        self._changed = asyncio.Event()

    def connect(self, transport: FdTransport, tasks: asyncio.TaskGroup) -> None:
        """Serve one client."""
        handlers = Handlers(other_request=self._answer, other_notification=self._note)
        self._connections.append(Connection(transport, handlers))
        tasks.create_task(self._connections[-1].run())

    def notify(self, method: str, params: Any) -> None:
        """Notify the client that connected last."""
        self._connections[-1].notify(method, params)

    async def until(self, method: str, count: int = 1) -> Any:
        """Return the params of the message of a method, once there are that many."""
        while len(found := self.of(method)) < count:
            self._changed.clear()
            await self._changed.wait()
        return found[count - 1]

    def of(self, method: str) -> list[Any]:
        """Return the params of all messages of a method."""
        return [params for name, params in self.came if name == method]

    def close(self) -> None:
        """Disconnect all clients."""
        for each in self._connections:
            each.close()

    def _answer(self, request: Request) -> Reply:
        self._note(request.method, request.params)
        answer = self.answers.get(request.method, {})
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _note(self, method: str, params: Any) -> None:
        self.came.append((method, params))
        self._changed.set()


@asynccontextmanager
async def session_server(
    kind: SessionKind, cwd: Path, answers: Mapping[str, Any]
) -> AsyncGenerator[FakeSessionServer]:
    """Serve the session `SESSION` of the current user's store; the block has a time limit."""
    store = SessionStore(paths())
    store.add(SessionSpec(SESSION, kind, ("agent",), str(cwd)))
    server = FakeSessionServer(store, answers)
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        listener = serve_unix(
            store.socket(SESSION), lambda transport, _: server.connect(transport, tasks)
        )
        try:
            yield server
        finally:
            listener.close()
            server.close()
