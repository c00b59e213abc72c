"""Who looks at an agent: one who does not read is cut, and holds up nobody."""

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
from symposium.sessions.server import BACKLOG, KeeperSocket, OnState, Viewer
from symposium.sessions.session import ServerSessionState, Status

LINE = "x" * 100_000


class Floods:
    """A keeper whose agent says more than who does not read can be kept for."""

    def __init__(self) -> None:
        self.viewers: list[Viewer] = []
        self.gone = asyncio.Event()

    async def run(self, on_state: OnState) -> ServerSessionState:
        del on_state
        return ServerSessionState(Status.RUNNING)

    def stop(self) -> None:
        """Nothing."""

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
async def test_who_does_not_read_is_cut_and_others_see_everything(tmp_path: Path) -> None:
    keeper, place = Floods(), tmp_path / "s"
    async with asyncio.TaskGroup() as tasks:
        door = KeeperSocket(place, keeper, tasks)
        door.open()
        deaf = socket.socket(socket.AF_UNIX)
        deaf.connect(str(place))
        reader, writer = await asyncio.open_unix_connection(place, limit=1 << 20)
        async with asyncio.timeout(45):
            while len(keeper.viewers) < 2:  # noqa: ASYNC110 - the kernel tells the other side
                await asyncio.sleep(0)
            for number in range(2 * BACKLOG // len(LINE)):
                for viewer in tuple(keeper.viewers):
                    viewer.notify("said", {"number": number, "text": LINE})
                assert json.loads(await reader.readline())["params"]["number"] == number
            await keeper.gone.wait()
        assert len(keeper.viewers) == 1
        deaf.close()
        writer.close()
        await door.close()


@pytest.mark.requirement("agent-sessions.private")
async def test_another_user_who_reaches_the_socket_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, place = Floods(), tmp_path / "s"
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        door = KeeperSocket(place, keeper, tasks)
        door.open()
        reader, writer = await asyncio.open_unix_connection(place)
        said = await reader.read()
        writer.close()
        await door.close()

    assert (said, keeper.viewers) == (b"", [])


@pytest.mark.requirement("agent-sessions.acp-watch")
async def test_a_viewer_hears_that_the_session_has_ended(tmp_path: Path) -> None:
    keeper, place = Floods(), tmp_path / "s"
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        door = KeeperSocket(place, keeper, tasks)
        door.open()
        gone, closing = await asyncio.open_unix_connection(place)
        reader, writer = await asyncio.open_unix_connection(place)
        writer.write(b'{"jsonrpc":"2.0","id":1,"method":"%s"}\n' % DESCRIBE.encode())
        described = json.loads(await reader.readline())
        closing.close()
        await keeper.gone.wait()
        await door.close()
        last = json.loads(await reader.readline())
        writer.close()
        del gone

    assert described["result"] == {}
    assert last["method"] == ENDED
    assert not place.exists()
