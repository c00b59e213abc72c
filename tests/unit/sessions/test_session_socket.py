"""Viewers of a session: a viewer that does not read is disconnected."""

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from peerwire.jsonrpc.handlers import RequestHandler
from symposium.sessions.client import DESCRIBE, ENDED
from symposium.sessions.server import BACKLOG, OnState, SessionSocket, Viewer
from symposium.sessions.session import ServerSessionState, Status

LINE = "x" * 100_000


class Floods:
    """A session server whose agent writes more than the backlog of a viewer."""

    def __init__(self) -> None:
        self.viewers: list[Viewer] = []
        self.gone = asyncio.Event()

    async def run(self, on_state: OnState) -> ServerSessionState:
        del on_state
        return ServerSessionState(Status.RUNNING)

    def stop(self) -> None:
        """Do nothing."""

    def describe(self) -> Mapping[str, Any]:
        return {}

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        self.viewers.append(viewer)
        return {}

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        del viewer
        return {}

    def left(self, viewer: Viewer) -> None:
        self.viewers.remove(viewer)
        self.gone.set()


@pytest.mark.requirement("tasks.slow-viewer")
async def test_viewer_that_does_not_read_is_disconnected_and_others_get_everything(
    tmp_path: Path,
) -> None:
    server, place = Floods(), tmp_path / "s"
    async with asyncio.TaskGroup() as tasks:
        session_socket = SessionSocket(place, server, tasks)
        session_socket.open()
        idle = socket.socket(socket.AF_UNIX)
        idle.connect(str(place))
        reader, writer = await asyncio.open_unix_connection(place, limit=1 << 20)
        async with asyncio.timeout(45):
            while len(server.viewers) < 2:  # noqa: ASYNC110 - the kernel accepts
                await asyncio.sleep(0)
            for number in range(2 * BACKLOG // len(LINE)):
                for viewer in tuple(server.viewers):
                    viewer.notify("said", {"number": number, "text": LINE})
                assert json.loads(await reader.readline())["params"]["number"] == number
            await server.gone.wait()
        assert len(server.viewers) == 1
        idle.close()
        writer.close()
        await session_socket.close()


@pytest.mark.requirement("agent-sessions.private")
async def test_connection_of_another_user_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, place = Floods(), tmp_path / "s"
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        session_socket = SessionSocket(place, server, tasks)
        session_socket.open()
        reader, writer = await asyncio.open_unix_connection(place)
        said = await reader.read()
        writer.close()
        await session_socket.close()

    assert (said, server.viewers) == (b"", [])


@pytest.mark.requirement("agent-sessions.acp-watch")
async def test_viewer_is_notified_when_the_session_ends(tmp_path: Path) -> None:
    server, place = Floods(), tmp_path / "s"
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        session_socket = SessionSocket(place, server, tasks)
        session_socket.open()
        gone, closing = await asyncio.open_unix_connection(place)
        reader, writer = await asyncio.open_unix_connection(place)
        writer.write(b'{"jsonrpc":"2.0","id":1,"method":"%s"}\n' % DESCRIBE.encode())
        described = json.loads(await reader.readline())
        closing.close()
        await server.gone.wait()
        await session_socket.close()
        last = json.loads(await reader.readline())
        writer.close()
        del gone

    assert described["result"] == {}
    assert last["method"] == ENDED
    assert not place.exists()
