"""The daemon as a process: only one, in a safe place, recovered after a kill, idle exit."""

import asyncio
import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.support.daemons import DaemonFolder, ProcessExit, RawSocket, daemon_folder

from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress, PlaceError, returning
from symposium.bus.envelope import MAX_LINE, Sender
from symposium.bus.errors import BusError, BusUnreachableError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import DaemonStatus, Log
from symposium.bus.messages.editor import ReloadWindow
from symposium.bus.protocol import Role
from symposium.daemon.instance_lock import starting

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


def words_of(pid: int) -> str:
    """Return the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ")


@pytest.mark.requirement("daemon.one")
async def test_simultaneous_starts_lead_to_one_daemon(home: DaemonFolder) -> None:
    async with asyncio.TaskGroup() as tasks:
        starts = [tasks.create_task(home.symposium("daemon", "start")) for _ in range(8)]
    said = [each.result() for each in starts]

    assert [each.code for each in said] == [0] * 8, said
    assert sum("already running" in each.err for each in said) == 7
    log = (home.folder / "log" / "daemon.log").read_text(encoding="utf-8")
    assert log.count('"listening at') == 1
    assert await home.pid() == int((home.folder / "run/bus.sock.lock").read_text())


@pytest.mark.requirement("daemon.one", "daemon.auto-start")
async def test_simultaneous_clients_find_one_daemon(home: DaemonFolder) -> None:
    async def boot() -> str:
        async with home.client(starts=True) as client:
            return (await client.ready()).boot

    async with asyncio.TaskGroup() as tasks:
        boots = [tasks.create_task(boot()) for _ in range(6)]

    assert len({each.result() for each in boots}) == 1


@pytest.mark.requirement("trust.no-import", "daemon.auto-start")
async def test_daemon_started_in_a_workspace_imports_nothing_of_it(
    home: DaemonFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = home.folder / "work"
    (work / "symposium").mkdir(parents=True)
    for name in ("symposium/__init__.py", "json.py", "asyncio.py", "site.py"):
        (work / name).write_text(f"open({str(home.folder / 'tripped')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(work)
    # As from there: the daemon gets the directory, and does not stay in it.
    monkeypatch.setenv("SYMPOSIUM_HOME", "..")
    async with home.client(starts=True) as client:
        pid = (await client.request(DaemonStatus())).pid

    assert os.readlink(f"/proc/{pid}/cwd") == "/"  # noqa: PTH115 - a coroutine
    assert pid == int((home.folder / "run" / "bus.sock.lock").read_text())
    assert not (home.folder / "tripped").exists()


@pytest.mark.requirement("daemon.one")
async def test_start_waits_while_another_daemon_starts_or_exits(home: DaemonFolder) -> None:
    with starting(DaemonAddress(home.socket, home.folder / "log")):
        process = await home.begin("daemon", "start")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await process.wait()
    await process.communicate()

    assert process.returncode == 0
    assert await home.pid()


@pytest.mark.requirement("daemon.options-kept")
async def test_automatic_start_repeats_the_options_of_the_last_daemon(
    home: DaemonFolder,
) -> None:
    asked = ("--compat-socket", str(home.compat), "--history", "0", "--idle-timeout", "77")
    await home.start(*asked)
    await home.kill()
    async with home.client(starts=True) as client:
        again = await client.request(DaemonStatus())
    assert again.compat_socket == str(home.compat)
    words = words_of(again.pid)
    assert "--history 0" in words
    assert "--idle-timeout 77" in words
    assert (await home.symposium("daemon", "stop")).code == 0
    async with home.client(starts=True) as client:
        assert (await client.request(DaemonStatus())).compat_socket is None


@pytest.mark.requirement("daemon.options-kept")
@pytest.mark.parametrize("kept", [b"", b"{", b'{"a":1}', b"[1, null]", b"\xff"])
async def test_unreadable_options_are_the_defaults(home: DaemonFolder, kept: bytes) -> None:
    (home.folder / "run").mkdir(mode=0o700)
    (home.folder / "run" / "bus.sock.options").write_bytes(kept)
    async with home.client(starts=True) as client:
        assert (await client.request(DaemonStatus())).compat_socket is None


@pytest.mark.requirement("daemon.stale")
async def test_files_of_a_killed_daemon_are_replaced(home: DaemonFolder) -> None:
    await home.start("--compat-socket", str(home.compat))
    await home.kill()
    assert home.socket.exists(), "the kernel leaves the files"
    assert home.compat.exists()

    await home.start("--compat-socket", str(home.compat))
    async with home.client() as client:
        assert (await client.request(DaemonStatus())).compat_socket == str(home.compat)


@pytest.mark.requirement("daemon.stale")
async def test_file_that_is_no_socket_is_not_removed(home: DaemonFolder) -> None:
    home.socket.parent.mkdir(mode=0o700)
    home.socket.write_text("precious", encoding="utf-8")
    said = await home.symposium("daemon", "start")

    assert said.code == 1
    assert f"{home.socket} is not a socket" in said.err
    assert home.socket.read_text(encoding="utf-8") == "precious"


@pytest.mark.requirement("daemon.private")
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
async def test_other_users_cannot_connect_whatever_the_umask(
    home: DaemonFolder, umask: int
) -> None:
    before = os.umask(umask)
    try:
        await home.start("--compat-socket", str(home.compat))
    finally:
        os.umask(before)

    modes = {
        path.name: stat.S_IMODE(path.lstat().st_mode)
        for path in (home.socket.parent, home.socket, home.compat, home.folder / "log/daemon.log")
    }
    assert modes == {"run": 0o700, "bus.sock": 0o600, "compat.sock": 0o600, "daemon.log": 0o600}


@pytest.mark.requirement("daemon.private")
async def test_unsafe_directory_is_refused_by_both_sides(home: DaemonFolder) -> None:
    home.socket.parent.mkdir(mode=0o777)
    home.socket.parent.chmod(0o777)
    said = await home.symposium("daemon", "start")
    async with home.client(starts=True) as client:
        with pytest.raises(PlaceError, match="is open to other users; chmod 700"):
            await client.ready()

    assert said.code == 1
    assert "is open to other users" in said.err


@pytest.mark.requirement("daemon.private")
async def test_directory_that_is_a_link_is_refused(home: DaemonFolder) -> None:
    (home.folder / "elsewhere").mkdir(mode=0o700)
    home.socket.parent.symlink_to(home.folder / "elsewhere")
    said = await home.symposium("daemon", "start")

    assert said.code == 1
    assert "is a link" in said.err


@pytest.mark.requirement("daemon.private")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can play another user")
async def test_another_user_cannot_connect_though_the_files_allow_it(home: DaemonFolder) -> None:
    await home.start()
    for path in (home.folder, home.socket.parent, home.socket):
        path.chmod(0o777)
    program = (
        "import os, socket, sys\n"
        "os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        'try: s.sendall(b\'{"type":"hello","id":"1"}\\n\'); print(s.recv(100))\n'
        'except OSError: print(b"")\n'
    )
    # The parent folders of pytest are root's alone: reach the socket from inside.
    process = await asyncio.create_subprocess_exec(
        *("python3", "-c", program, "bus.sock"),
        stdout=asyncio.subprocess.PIPE,
        cwd=home.socket.parent,
    )
    out, _ = await process.communicate()
    home.socket.parent.chmod(0o700)

    assert out == b"b''\n", "the connection was ended without a word"
    said = await home.symposium("daemon", "logs")
    assert "rejected a connection of user 65534" in said.out


@pytest.mark.requirement("daemon.idle")
async def test_daemon_without_clients_exits(home: DaemonFolder) -> None:
    process = await home.begin("daemon", "start", "--foreground", "--idle-timeout", "0.2")
    await process.communicate()

    assert process.returncode == 0
    assert not home.socket.exists()


async def connected(home: DaemonFolder, stack: AsyncExitStack, seconds: float) -> BusClient | None:
    """Connect to a new daemon that exits when idle; None if it has exited before."""
    await home.start("--idle-timeout", f"{seconds}")
    try:
        return await stack.enter_async_context(home.client())
    except BusError:
        return None


@pytest.mark.requirement("daemon.idle")
async def test_client_keeps_the_daemon_running_until_it_disconnects(home: DaemonFolder) -> None:
    seconds = 0.8
    async with AsyncExitStack() as stack:
        # A busy machine may take longer than that to connect.
        while not (client := await connected(home, stack, seconds)):
            seconds *= 2
        gone = ProcessExit((await client.request(DaemonStatus())).pid)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds + 0.2):
                await gone.wait()
        await client.request(DaemonStatus())
    await gone.wait()

    assert not home.socket.exists()


@pytest.mark.requirement("daemon.term", "bus.v1-lines")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_lets_editors_reload_and_ends_the_daemon(
    home: DaemonFolder, number: signal.Signals
) -> None:
    await home.start("--compat-socket", str(home.compat))
    reloaded = asyncio.Event()
    answers = HandlerTable()

    async def reload(message: ReloadWindow, asked: RequestContext) -> None:
        del message, asked
        reloaded.set()

    answers.on_announcement(ReloadWindow, reload)
    old = RawSocket(home.compat)
    async with home.client(Role.EDITOR, answers) as editor:
        gone = ProcessExit((await editor.request(DaemonStatus())).pid)
        os.kill(int((home.folder / "run/bus.sock.lock").read_text()), number)
        await reloaded.wait()
        (line,) = await old.lines(1)
        await gone.wait()
    old.close()

    assert isinstance(line, bytes)
    messages = json.loads(line)
    assert messages.pop("id")
    assert messages == {
        "type": "reload_window",
        "sender": {"workingDirectory": "/tmp", "taskspaceUuid": None, "shellPid": None},
        "payload": {},
    }
    assert not home.socket.exists()
    assert not home.compat.exists()


@pytest.mark.requirement("bus.v1-relay", "bus.v1-control")
async def test_programs_of_version_1_connect_at_the_compat_socket(home: DaemonFolder) -> None:
    await home.start("--compat-socket", str(home.compat))
    one, two = RawSocket(home.compat), RawSocket(home.compat)
    two.write(b"#identify:two")
    two.write(b'{"x": 1}')
    line = b'{"type":"polo","id":"1","sender":{"workingDirectory":"/"},"payload":{"long":"%b"}}' % (
        b"x" * 200_000
    )
    one.write(line)

    assert await one.lines(2) == [b'{"x": 1}', line], "more than a pipe holds, in one piece"
    assert await two.lines(2) == [b'{"x": 1}', line]
    one.write(b"#debug_dump_messages")
    (*_, dump) = await one.lines(3)
    assert isinstance(dump, bytes)
    assert json.loads(dump)[0]["from_identifier"] == "two"
    for each in (one, two):
        each.close()


@pytest.mark.requirement("daemon.auto-start")
async def test_daemon_started_by_a_client_gets_its_options(
    home: DaemonFolder,
) -> None:
    options = DaemonOptions(home.socket, home.compat, 5.0, 7, "debug")
    who = Identity(Role.CLI, "test", Sender("/"))
    async with BusClient(who, settings=ClientSettings(options)) as client:
        info = await client.request(DaemonStatus())
    words = words_of(info.pid)

    assert info.compat_socket == str(home.compat)
    assert all(each in words for each in ("--idle-timeout 5.0", "--history 7", "--log debug"))


@pytest.mark.requirement("daemon.auto-start")
async def test_failed_start_of_a_daemon_is_reported_to_its_client(home: DaemonFolder) -> None:
    home.socket.parent.mkdir(mode=0o700)
    home.socket.write_text("precious", encoding="utf-8")
    options = DaemonOptions(home.socket)
    who = Identity(Role.CLI, "test", Sender("/"))
    async with BusClient(who, settings=ClientSettings(options)) as client:
        with pytest.raises(BusUnreachableError, match="is not a socket"):
            await client.ready()


@pytest.mark.requirement("daemon.auto-start")
async def test_failed_daemon_reports_the_reason(home: DaemonFolder) -> None:
    (home.folder / "log").touch()
    said = await home.symposium("daemon", "start")

    assert said.code == 1
    assert "the daemon failed: FileExistsError" in said.err


@pytest.mark.requirement("daemon.stays-stopped")
async def test_reconnect_starts_a_daemon_after_a_crash_and_not_after_a_stop(
    home: DaemonFolder,
) -> None:
    reach = returning()
    (await reach(home.options)).close()
    await home.kill()
    (await reach(home.options)).close()
    await home.symposium("daemon", "stop")

    with pytest.raises(BusUnreachableError, match="no daemon listens"):
        await reach(home.options)
    await home.start()
    (await reach(home.options)).close()


@pytest.mark.requirement("daemon.log")
async def test_log_is_json_without_secrets(home: DaemonFolder) -> None:
    home.environment["MY_API_KEY"] = "verysecretvalue"
    await home.start()
    raw = RawSocket(home.socket)
    raw.write(
        b'{"type":"hello","id":"1","sender":{"workingDirectory":"/"},"payload":'
        b'{"protocol":2,"role":"verysecretvalue","name":"x"}}'
    )
    await raw.lines(1)
    await raw.seen.end()
    raw.close()
    said = await home.symposium("daemon", "logs", "--json")

    entries = [json.loads(line) for line in said.out.splitlines()]
    assert entries[0]["level"] == "info"
    assert entries[0].keys() == {"ts", "level", "logger", "message", "pid"}
    assert "disconnected" in entries[-1]["message"]
    assert "verysecretvalue" not in said.out
    plain = await home.symposium("daemon", "logs", "-n", "1")
    (last,) = plain.out.splitlines()
    assert "disconnected" in last


@pytest.mark.requirement("bus.long-lines")
async def test_too_long_line_is_an_error_for_its_sender_only(
    home: DaemonFolder,
) -> None:
    await home.start()
    raw = RawSocket(home.socket)
    raw.write(
        b'{"type":"hello","id":"1","sender":{"workingDirectory":"/"},"payload":'
        b'{"protocol":2,"role":"cli","name":"x"}}'
    )
    raw.write(b'{"type":"log","id":"big","payload":"' + b"x" * MAX_LINE + b'"}')
    _, error = await raw.lines(2)
    raw.close()
    async with home.client() as client:
        delivered = await client.post(Log(level="info", message="x" * (MAX_LINE - 300)))
        assert delivered == 0, "one just below passes"

    assert isinstance(error, bytes)
    messages = json.loads(error)
    assert (messages["id"], messages["payload"]["code"]) == ("big", "too_long")


@pytest.mark.requirement("daemon.cli")
async def test_status_and_stop_report_the_state(home: DaemonFolder) -> None:
    none = await home.symposium("daemon", "status", "--json")
    stopped = await home.symposium("daemon", "stop")
    await home.start()
    text = await home.symposium("daemon", "status")
    data = await home.symposium("daemon", "status", "--json")
    gone = ProcessExit(json.loads(data.out)["pid"])
    stop = await home.symposium("daemon", "stop")
    await gone.wait()

    assert (none.code, json.loads(none.out)) == (4, {"running": False})
    assert (stopped.code, stop.code) == (0, 0)
    assert str(home.socket) in text.out
    handles = json.loads(data.out)["handles"]
    assert {"daemon_status", "stop_daemon"} <= {*handles}
    assert [each for each in handles if each not in text.out] == [], "the list is whole"
    assert not home.socket.exists()
