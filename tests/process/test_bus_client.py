"""A client through thick and thin: the daemon dies, comes back, or is not there at all."""

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
from symposium.bus.connect import dial, dial_running
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
async def test_a_client_that_finds_no_daemon_starts_one(home: DaemonFolder) -> None:
    async with home.client(starts=True) as client:
        welcome = await client.ready()

    assert (welcome.protocol, welcome.connection[0]) == (2, "c")


@pytest.mark.requirement("bus.client-reconnects")
async def test_a_client_comes_back_after_the_daemon_was_killed(home: DaemonFolder) -> None:
    async with home.client(Role.EDITOR, presence=window(home), starts=True) as client:
        before = await client.ready()
        await home.kill()
        found = await client.request(Who())
        after = await client.ready()

    assert after.boot != before.boot
    (present,) = [each for each in found if each.role == "editor"]
    assert present.kind is WindowKind.EDITOR, "where it is was said again"


@pytest.mark.requirement("bus.client-resumes")
async def test_an_idempotent_request_that_was_lost_is_asked_again(home: DaemonFolder) -> None:
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
    """Ask until the editor, too, is back: that nobody answers is said at once."""
    while True:
        try:
            return await mcp.request(GetSelection())
        except BusRefusedError as error:
            if error.code != "no_handler":
                raise


@pytest.mark.requirement("bus.client-resumes", "bus.client-errors")
async def test_what_may_not_be_done_twice_is_not_asked_again(home: DaemonFolder) -> None:
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

    assert "while present_walkthrough was on its way" in error.message
    assert "not known" in error.hint
    assert times == [1]


async def lost(mcp: BusClient) -> BusLostError:
    with pytest.raises(BusLostError) as failure:
        await mcp.request(WALKTHROUGH)
    return failure.value


@pytest.mark.requirement("bus.client-errors")
async def test_while_there_is_no_connection_a_request_says_so(home: DaemonFolder) -> None:
    await home.start()
    async with home.client() as client:
        await client.ready()
        await home.kill()
        with pytest.raises(BusReconnectingError, match=r"bus reconnecting: .* was not sent"):
            await client.request(DaemonStatus(), patience=0.1)
        with pytest.raises(BusUnreachableError, match="no daemon listens"):
            await client.ready()


@pytest.mark.requirement("bus.client-errors")
async def test_a_daemon_that_is_stopped_is_told_from_one_that_is_not_there(
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
async def test_a_daemon_that_hangs_up_is_not_waited_for(home: DaemonFolder) -> None:
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
async def test_a_daemon_that_is_just_going_away_is_not_the_last_word(home: DaemonFolder) -> None:
    home.socket.parent.mkdir(mode=0o700)

    def go_away(transport: FdTransport, uid: int) -> None:
        del uid
        # As one that was killed between our coming and its answer.
        listener.close()
        transport.close()

    listener = serve_unix(home.socket, go_away)
    async with home.client(Role.CLI, starts=True) as client:
        welcome = await client.ready()
        assert (await client.request(DaemonStatus())).pid

    assert welcome.protocol == PROTOCOL


@pytest.mark.requirement("bus.client-errors")
async def test_a_message_that_is_too_long_is_not_sent(home: DaemonFolder) -> None:
    async with home.client(starts=True) as client:
        await client.ready()
        with pytest.raises(BusRefusedError, match="bytes at most"):
            await client.post(Log(level="info", message="x" * MAX_LINE))


@pytest.mark.requirement("bus.client-backoff")
async def test_attempts_to_come_back_are_further_and_further_apart(home: DaemonFolder) -> None:
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
async def test_a_window_says_again_and_again_where_it_is(home: DaemonFolder) -> None:
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
async def test_who_stops_waiting_ends_the_work_that_was_done_for_it(home: DaemonFolder) -> None:
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
        # Long before its time is over, and while who asked is still connected.
        async with asyncio.timeout(45):
            await ended.wait()


@pytest.mark.requirement("bus.client-errors")
async def test_a_bug_of_who_answers_is_told_and_harms_nobody(
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
async def test_an_announcement_is_heard_in_order_and_counted(home: DaemonFolder) -> None:
    heard: list[int] = []
    all_heard = asyncio.Event()
    answers = HandlerTable()

    async def polo(message: Polo, who: RequestContext) -> None:
        del message
        heard.append(who.sender.shell_pid or 0)
        if len(heard) == 100:
            all_heard.set()

    answers.on_announcement(Polo, polo)
    async with home.client(Role.EDITOR, answers, starts=True) as editor:
        await editor.ready()
        for first in range(0, 100, 10):
            for number in range(first, first + 10):
                who = Identity(Role.CLI, "x", Sender("/", None, number + 1))
                async with BusClient(who, settings=ClientSettings(home.options)) as mcp:
                    assert await mcp.post(Polo()) == 1
        await all_heard.wait()

    assert heard == list(range(1, 101))


@pytest.mark.requirement("bus.client-reconnects")
async def test_the_end_of_the_daemon_on_purpose_is_survived_too(home: DaemonFolder) -> None:
    async with home.client(Role.CLI, starts=True) as client:
        gone = ProcessExit((await client.request(DaemonStatus())).pid)
        await home.symposium("daemon", "stop")
        await gone.wait()
        assert (await client.request(DaemonStatus())).pid
