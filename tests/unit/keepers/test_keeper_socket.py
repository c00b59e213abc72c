"""Who looks at an agent: one who does not read is cut, and holds up nobody."""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from peerwire.jsonrpc.handlers import RequestHandler
from symposium.agent_sessions.session import SessionState, Status
from symposium.keepers.keeper import OnState, Viewer
from symposium.keepers.keeper_socket import BACKLOG, KeeperSocket

LINE = "x" * 100_000


class Floods:
    """A keeper whose agent says more than who does not read can be kept for."""

    def __init__(self) -> None:
        self.viewers: list[Viewer] = []
        self.gone = asyncio.Event()

    async def run(self, on_state: OnState) -> SessionState:
        del on_state
        return SessionState(Status.RUNNING)

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
