"""The daemon is killed at every step of a request: the requester gets a result or an error."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from tests.support import crashing_daemon
from tests.support.daemons import DaemonFolder, ProcessExit, daemon_folder

from peerwire.jsonrpc.transport import Transport
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import daemon_address, dial_running
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusError, BusRefusedError, BusUnreachableError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import Presence, Who, WindowKind
from symposium.bus.messages.editor import GetSelection, PresentWalkthrough, Selection
from symposium.bus.protocol import Ack, Role

pytestmark = pytest.mark.timeout(240)

STEPS = 27
"""More than a conversation of two hellos, one presence, and one request takes."""


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


class Nursery:
    """Starts daemons that crash at a step, and others that do not."""

    def __init__(self, socket: Path) -> None:
        self._options = DaemonOptions(socket)
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, crashing_daemon.__file__, str(self._options.socket)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.communicate()

    async def start(self, last_step: int) -> None:
        """Start a daemon; return when it listens."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"%d\n" % last_step)
        assert await self._process.stdout.readline() == b"READY\n"

    async def dial(self, options: DaemonOptions) -> Transport:
        """Connect to the daemon; start one that does not crash, if none runs."""
        async with self._one_at_a_time:
            try:
                return await dial_running(options)
            except BusUnreachableError:
                await self.start(0)
                return await dial_running(options)

    async def kill(self) -> None:
        """Kill the running daemon, and wait until it has exited."""
        pid = int(daemon_address(self._options.socket).life_lock.read_text(encoding="utf-8"))
        with suppress(ProcessLookupError):
            gone = ProcessExit(pid)
            os.kill(pid, signal.SIGKILL)
            await gone.wait()

    def client(self, role: Role, folder: Path, answers: HandlerTable | None = None) -> BusClient:
        """Return a client that reconnects to such daemons."""
        where = Presence(kind=WindowKind.EDITOR, workspace_folders=(str(folder),))
        presence = where if role is Role.EDITOR else None
        who = Identity(role, role.value, Sender(str(folder)), presence)
        return BusClient(who, answers, ClientSettings(self._options, self.dial))


class Window:
    """Editor that answers both kinds of request, and counts them."""

    def __init__(self) -> None:
        self.selected = 0
        self.shown = 0
        self.answers = HandlerTable()
        self.answers.on_request(GetSelection, self._select)
        self.answers.on_request(PresentWalkthrough, self._show)

    async def _select(self, message: GetSelection, asked: RequestContext) -> Selection:
        del message, asked
        self.selected += 1
        return Selection(selected_text="here")

    async def _show(self, message: PresentWalkthrough, asked: RequestContext) -> Ack:
        del message, asked
        self.shown += 1
        return Ack()


async def settled(request: Awaitable[object]) -> str:
    """Return the outcome of a request: `answered`, or its error."""
    try:
        await request
    except BusRefusedError as error:
        return error.code
    except BusError as error:
        return type(error).__name__
    return "answered"


@pytest.mark.requirement("bus.kill-anywhere")
@pytest.mark.chaos
async def test_daemon_killed_at_any_step_leaves_no_request_open(home: DaemonFolder) -> None:
    async with Nursery(home.socket) as nursery:
        for step in range(1, STEPS):
            await nursery.start(step)
            window = Window()
            editor = nursery.client(Role.EDITOR, home.folder, window.answers)
            async with editor, nursery.client(Role.MCP_SERVER, home.folder) as mcp:
                with suppress(BusError):
                    await editor.ready()
                went = await ask_both(mcp)
                assert went[0] in {"answered", "no_handler", "gone"}, (step, went)
                assert went[1] in {"answered", "no_handler", "gone", "BusLostError"}, (step, went)
                assert window.shown <= 1, "done twice"
                assert window.shown or went[1] != "answered", "said to be done, and was not"
                assert await mcp.request(Who()), "there is a daemon again"
            await nursery.kill()


async def ask_both(mcp: BusClient) -> tuple[str, str]:
    """Send a request that is idempotent, and one that is not."""
    walkthrough = PresentWalkthrough(content="", base_uri="/")
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        select = tasks.create_task(settled(mcp.request(GetSelection())))
        show = tasks.create_task(settled(mcp.request(walkthrough)))
    return select.result(), show.result()
