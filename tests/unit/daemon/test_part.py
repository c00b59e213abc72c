"""A part of the daemon, as an example for writing one."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress, dial_running
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import GetTaskspaceState, TaskspaceInfo, TaskspaceState
from symposium.bus.messages.broker import TaskspaceRollCall
from symposium.bus.protocol import Role
from symposium.daemon.instance_lock import acquire_instance_lock, starting
from symposium.daemon.part import LocalPeer
from symposium.daemon.server import Daemon, DaemonConfig


class OneTaskspace:
    """A part that has one taskspace, and sends a request to its windows when it starts."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = False

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(TaskspaceState, self._state)
        return answers

    async def run(self, bus: LocalPeer) -> None:
        bus.announce(TaskspaceRollCall(taskspace_uuid="one"))
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True

    def is_busy(self) -> bool:
        return False

    async def _state(self, message: TaskspaceState, asked: RequestContext) -> TaskspaceInfo:
        if message.taskspace_uuid != "one":
            raise BusRefusedError("there is no such taskspace", "not_found")
        asked.progress("reading", done=1, total=2)
        return TaskspaceInfo(name=message.name or "first")


@asynccontextmanager
async def daemon_with(part: OneTaskspace, folder: Path) -> AsyncGenerator[Callable[[], BusClient]]:
    place = DaemonAddress(folder / "run" / "s", folder / "log")
    with starting(place):
        acquire_instance_lock(place)
        daemon = Daemon(DaemonConfig(place, DaemonOptions(place.socket), {"one": part}))

    def client() -> BusClient:
        who = Identity(Role.MCP_SERVER, "test", Sender("/work"))
        return BusClient(who, settings=ClientSettings(DaemonOptions(place.socket), dial_running))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(daemon.run())
        try:
            yield client
        finally:
            daemon.stop()


@pytest.mark.requirement("daemon.parts")
async def test_part_handles_its_messages_until_the_daemon_stops(tmp_path: Path) -> None:
    part = OneTaskspace()
    news: list[str] = []
    async with daemon_with(part, tmp_path) as client:
        await part.begun.wait()
        async with client() as bus:
            asked = TaskspaceState(project_path="", taskspace_uuid="one", name="new")
            info = await bus.request(asked, on_progress=lambda each: news.append(each.message))
            older = await bus.request(GetTaskspaceState(taskspace_uuid="one"))
            with pytest.raises(BusRefusedError, match="no such taskspace") as refused:
                await bus.request(TaskspaceState(project_path="", taskspace_uuid="two"))

    assert info.name == "new"
    assert older.name == "first"
    assert news == ["reading"]
    assert refused.value.code == "not_found"
    assert part.ended
