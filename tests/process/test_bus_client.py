"""Bus client when the daemon is killed, restarted, or missing."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.daemons import DaemonFolder, ProcessExit, daemon_folder

from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import serve_unix
from symposium.bus.client import MAX_ENDED, BusClient, ClientSettings, Identity
from symposium.bus.daemon_start import dial, dial_running
from symposium.bus.envelope import MAX_LINE, Sender
from symposium.bus.errors import (
    BusLostError,
    BusReconnectingError,
    BusRefusedError,
    BusUnreachableError,
)
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import (
    PROTOCOL,
    DaemonStatus,
    Log,
    Polo,
    Presence,
    Who,
    WindowKind,
)
from symposium.bus.messages.editor import GetSelection, PresentWalkthrough, Selection
from symposium.bus.protocol import Ack, Role

pytestmark = pytest.mark.timeout(240)

WALKTHROUGH = PresentWalkthrough(content="", base_uri="/")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


def window(home: DaemonFolder) -> Presence:
    return Presence(kind=WindowKind.EDITOR, workspace_folders=(str(home.folder),))


@pytest.mark.requirement("bus.client-starts", "daemon.auto-start")
async def test_client_starts_a_missing_daemon(home: DaemonFolder) -> None:
    async with home.client(starts=True) as client:
        welcome = await client.ready()

    assert (welcome.protocol, welcome.connection[0]) == (2, "c")


@pytest.mark.requirement("bus.client-reconnects")
async def test_client_reconnects_after_the_daemon_was_killed(home: DaemonFolder) -> None:
    async with home.client(Role.EDITOR, presence=window(home), starts=True) as client:
        before = await client.ready()
        await home.kill()
        found = await client.request(Who())
        after = await client.ready()

    assert after.boot != before.boot
    (present,) = [each for each in found if each.role == "editor"]
    assert present.kind is WindowKind.EDITOR, "where it is was said again"


@pytest.mark.requirement("bus.client-resumes")
async def test_lost_idempotent_request_is_repeated(home: DaemonFolder) -> None:
    asked = asyncio.Event()
    times: list[int] = []
    answers = HandlerTable()

    async def select(message: GetSelection, who: RequestContext) -> Selection:
        del message, who
        times.append(1)
        asked.set()
        if len(times) == 1:
            await asyncio.Event().wait()
        return Selection(selected_text="at last")

    answers.on_request(GetSelection, select)
    async with (
        home.client(Role.EDITOR, answers, window(home), starts=True) as editor,
        home.client(starts=True) as mcp,
        asyncio.TaskGroup() as tasks,
    ):
        await editor.ready()
        await mcp.ready()
        request = tasks.create_task(until_answered(mcp))
        await asked.wait()
        await home.kill()
        selection = await request

    assert selection.selected_text == "at last"
    assert len(times) == 2


async def until_answered(mcp: BusClient) -> Selection:
    """Repeat the request until the editor has reconnected; a missing handler fails at once."""
    while True:
        try:
            return await mcp.request(GetSelection())
        except BusRefusedError as error:
            if error.code != "no_handler":
                raise


@pytest.mark.requirement("bus.client-resumes", "bus.client-errors")
async def test_request_that_is_not_idempotent_is_not_repeated(home: DaemonFolder) -> None:
    asked = asyncio.Event()
    times: list[int] = []
    answers = HandlerTable()

    async def show(message: PresentWalkthrough, who: RequestContext) -> Ack:
        del message, who
        times.append(1)
        asked.set()
        await asyncio.Event().wait()
        return Ack()

    answers.on_request(PresentWalkthrough, show)
    async with (
        home.client(Role.EDITOR, answers, window(home), starts=True) as editor,
        home.client(starts=True) as mcp,
        asyncio.TaskGroup() as tasks,
    ):
        await editor.ready()
        request = tasks.create_task(lost(mcp))
        await asked.wait()
        await home.kill()
        error = await request
        await mcp.request(Who())
        await editor.request(Who())

    assert "while waiting for present_walkthrough" in error.message
    assert "unknown" in error.hint
    assert times == [1]


async def lost(mcp: BusClient) -> BusLostError:
    with pytest.raises(BusLostError) as failure:
        await mcp.request(WALKTHROUGH)
    return failure.value


@pytest.mark.requirement("bus.client-errors")
async def test_request_without_a_connection_fails(home: DaemonFolder) -> None:
    await home.start()
    async with home.client() as client:
        await client.ready()
        await home.kill()
        with pytest.raises(BusReconnectingError, match=r"bus reconnecting: .* was not sent"):
            await client.request(DaemonStatus(), timeout=0.1)
        with pytest.raises(BusUnreachableError, match="no daemon listens"):
            await client.ready()


@pytest.mark.requirement("bus.client-errors")
async def test_stopped_daemon_and_missing_daemon_are_different_errors(
    home: DaemonFolder,
) -> None:
    await home.start()
    pid = await home.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        async with home.client() as client:
            with pytest.raises(BusUnreachableError, match="is running, but does not answer hello"):
                await client.ready()
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.requirement("bus.client-errors")
async def test_client_does_not_wait_for_a_daemon_that_disconnects(home: DaemonFolder) -> None:
    home.socket.parent.mkdir(mode=0o700)
    come: list[int] = []

    def hang_up(transport: FdTransport, uid: int) -> None:
        come.append(uid)
        transport.close()

    listener = serve_unix(home.socket, hang_up)
    async with home.client() as client:
        with pytest.raises(BusUnreachableError, match="closed the connection before it answered"):
            await client.ready()
        assert len(come) == MAX_ENDED
    listener.close()


@pytest.mark.requirement("bus.client-meets-the-end")
async def test_client_tries_again_when_the_daemon_is_just_exiting(home: DaemonFolder) -> None:
    home.socket.parent.mkdir(mode=0o700)

    def go_away(transport: FdTransport, uid: int) -> None:
        del uid
        # Like a daemon that was killed between the connect and its answer.
        listener.close()
        transport.close()

    listener = serve_unix(home.socket, go_away)
    async with home.client(Role.CLI, starts=True) as client:
        welcome = await client.ready()
        assert (await client.request(DaemonStatus())).pid

    assert welcome.protocol == PROTOCOL


@pytest.mark.requirement("bus.client-errors")
async def test_too_long_message_is_not_sent(home: DaemonFolder) -> None:
    async with home.client(starts=True) as client:
        await client.ready()
        with pytest.raises(BusRefusedError, match="at most 16777216 bytes"):
            await client.post(Log(level="info", message="x" * MAX_LINE))


@pytest.mark.requirement("bus.client-backoff")
async def test_reconnects_have_growing_delays(home: DaemonFolder) -> None:
    pauses: list[float] = []
    enough = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 10:
            enough.set()
            await asyncio.Event().wait()

    settings = ClientSettings(home.options, dial_running, pause=pause)
    async with BusClient(Identity(Role.CLI, "test", Sender("/")), settings=settings):
        await enough.wait()

    steps = [0.05 * 2**n for n in range(10)]
    assert all(min(s, 5.0) / 2 <= p <= min(s, 5.0) for p, s in zip(pauses, steps, strict=True))
    assert len(set(pauses)) == 10, "not all clients at the same moment"


@pytest.mark.requirement("bus.presence")
async def test_window_repeats_its_position(home: DaemonFolder) -> None:
    await home.start()
    settings = ClientSettings(home.options, dial, heartbeat=0.02)
    who = Identity(Role.EDITOR, "test", Sender("/"), window(home))
    async with BusClient(who, settings=settings) as editor, home.client(Role.CLI) as cli:
        await editor.ready()
        seen = set[float]()
        while len(seen) < 3:
            seen |= {each.seen for each in await cli.request(Who(role="editor"))}
        await editor.show(Presence(kind=WindowKind.WEB))
        (now,) = await cli.request(Who(role="editor"))

    assert now.kind is WindowKind.WEB


@pytest.mark.requirement("bus.client-cancels", "bus.cancelled")
async def test_canceled_request_cancels_the_work_for_it(home: DaemonFolder) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()
    answers = HandlerTable()

    async def show(message: PresentWalkthrough, who: RequestContext) -> Ack:
        del message, who
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Ack()

    answers.on_request(PresentWalkthrough, show)
    editor = home.client(Role.EDITOR, answers, window(home), starts=True)
    async with editor, home.client() as mcp:
        await editor.ready()
        async with asyncio.TaskGroup() as tasks:
            request = tasks.create_task(mcp.request(WALKTHROUGH))
            await asked.wait()
            request.cancel()
        # Long before the timeout, while the requester is still connected.
        async with asyncio.timeout(45):
            await ended.wait()


@pytest.mark.requirement("bus.client-errors")
async def test_bug_in_a_handler_is_an_error_and_harms_no_other_client(
    home: DaemonFolder, caplog: pytest.LogCaptureFixture
) -> None:
    answers = HandlerTable()

    async def select(message: GetSelection, who: RequestContext) -> str:
        del message
        if who.sender.shell_pid:
            return "no selection"
        raise RuntimeError("oops")

    answers.on_request(GetSelection, select)
    async with home.client(Role.EDITOR, answers, window(home), starts=True) as editor:
        await editor.ready()
        async with home.client() as mcp:
            with pytest.raises(BusRefusedError, match=r"bug in the handler of.*oops") as failure:
                await mcp.request(GetSelection())
        who = Identity(Role.MCP_SERVER, "x", Sender(str(home.folder), None, 7))
        async with BusClient(who, settings=ClientSettings(home.options)) as mcp:
            with pytest.raises(BusRefusedError, match="must be Selection"):
                await mcp.request(GetSelection())

    assert failure.value.code == "failed"
    assert "oops" in caplog.text


@pytest.mark.requirement("bus.acknowledged")
async def test_announcement_is_received_in_order_and_counted(home: DaemonFolder) -> None:
    received: list[int] = []
    all_received = asyncio.Event()
    answers = HandlerTable()

    async def polo(message: Polo, who: RequestContext) -> None:
        del message
        received.append(who.sender.shell_pid or 0)
        if len(received) == 100:
            all_received.set()

    answers.on_announcement(Polo, polo)
    async with home.client(Role.EDITOR, answers, starts=True) as editor:
        await editor.ready()
        for first in range(0, 100, 10):
            for number in range(first, first + 10):
                who = Identity(Role.CLI, "x", Sender("/", None, number + 1))
                async with BusClient(who, settings=ClientSettings(home.options)) as mcp:
                    assert await mcp.post(Polo()) == 1
        await all_received.wait()

    assert received == list(range(1, 101))


@pytest.mark.requirement("bus.client-reconnects")
async def test_client_survives_an_intended_stop_of_the_daemon(home: DaemonFolder) -> None:
    async with home.client(Role.CLI, starts=True) as client:
        gone = ProcessExit((await client.request(DaemonStatus())).pid)
        await home.symposium("daemon", "stop")
        await gone.wait()
        assert (await client.request(DaemonStatus())).pid
