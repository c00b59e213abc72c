"""Session servers are queried at once; one that hangs delays no other task."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

import pytest

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import serve_unix
from symposium.config.paths import paths
from symposium.sessions.client import DESCRIBE, NoAnswerError, reach
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore
from symposium.tasks.handlers.live_sessions import SessionServers

WORKING: Final[dict[str, Any]] = {
    "acpSession": "one",
    "working": True,
    "waiting": 0,
    "questions": [],
}
IDLE: Final[dict[str, Any]] = {**WORKING, "working": False}

Describe = Callable[[], Coroutine[Any, Any, Any]]


class Servers:
    """Session servers in this process, each with its own socket and lock."""

    def __init__(self, store: SessionStore, directory: Path) -> None:
        self.store = store
        self._directory = directory
        self._stack = AsyncExitStack()
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

    def started(self) -> str:
        """Start a session whose server does not listen yet."""
        id_ = str(uuid4())
        spec = SessionSpec(id_, SessionKind.ACP, ("eliza",), str(self._directory))
        self.store.add(spec)
        handle = self.store.lock(id_)
        self._stack.callback(os.close, handle)
        return id_

    def hanging(self) -> str:
        """Start a server that accepts connections and does not answer."""
        id_ = self.started()
        listening = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(self.store.socket(id_)))
        listening.listen(8)
        return id_

    def answering(self, describe: Describe) -> str:
        """Start a server that answers."""
        id_ = self.started()
        self.answers(id_, describe)
        return id_

    def answers(self, id_: str, describe: Describe) -> None:
        """Make a session's server answer from now on."""
        self.store.socket(id_).unlink(missing_ok=True)

        async def respond(_: Request) -> Any:
            return await describe()

        def come(transport: FdTransport, uid: int) -> None:
            del uid
            connection = Connection(transport, Handlers(requests={DESCRIBE: respond}))
            self._running.append(self._tasks.create_task(connection.run()))

        listener = serve_unix(self.store.socket(id_), come)
        self._stack.callback(listener.close)


async def idle() -> Any:
    return IDLE


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncGenerator[Servers]:
    store = SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))
    async with Servers(store, tmp_path) as made:
        yield made


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_session_servers_are_queried_concurrently(servers: Servers) -> None:
    asked = asyncio.Barrier(3)

    async def once_all_were_queried() -> Any:
        await asked.wait()
        return WORKING

    ids = [servers.answering(once_all_were_queried) for _ in range(3)]
    found = await SessionServers(servers.store, timeout=30).all(ids)

    assert [found[id_].no_answer_since for id_ in ids] == ["", "", ""]


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_hanging_session_server_changes_no_other_answer(servers: Servers) -> None:
    hangs, answers, ended = servers.hanging(), servers.answering(idle), str(uuid4())
    found = await SessionServers(servers.store, timeout=0.1).all([hangs, answers, ended])

    assert found[hangs].no_answer_since
    assert found[answers].is_idle
    assert found[answers].no_answer_since == found[ended].no_answer_since == ""


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_no_answer_since_is_kept_until_the_server_answers(
    servers: Servers,
) -> None:
    hangs = servers.hanging()
    asking = SessionServers(servers.store, timeout=0.1)
    first = (await asking.now(hangs)).no_answer_since
    again = (await asking.now(hangs)).no_answer_since
    servers.answers(hangs, idle)

    assert first == again != ""
    assert (await asking.now(hangs)).no_answer_since == ""


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_query_to_a_hanging_session_server_raises_no_answer_error(
    servers: Servers,
) -> None:
    hangs = servers.hanging()
    with pytest.raises(NoAnswerError, match=f"{hangs} did not answer within 0.05 s"):
        async with reach(servers.store, hangs) as server:
            await server.ask(DESCRIBE, timeout=0.05)
