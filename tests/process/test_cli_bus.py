"""`symposium bus`: tail, send, replay, and the bridge for programs of any language."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.daemons import DaemonFolder, daemon_folder

from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import Log, Polo, Presence, WindowKind
from symposium.bus.messages.editor import GetSelection, Selection
from symposium.bus.protocol import Role

pytestmark = pytest.mark.timeout(240)

SECRET = "sk-" + "a1" * 16


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


def lines_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.requirement("bus.cli-send")
async def test_request_is_sent_and_its_reply_printed(home: DaemonFolder) -> None:
    answers = HandlerTable()

    async def select(message: GetSelection, asked: RequestContext) -> Selection:
        del message
        asked.progress("looking")
        return Selection(selected_text="here")

    answers.on_request(GetSelection, select)
    where = Presence(kind=WindowKind.EDITOR, workspace_folders=("/",))
    async with home.client(Role.EDITOR, answers, where, starts=True) as editor:
        await editor.ready()
        said = await home.symposium("bus", "send", "get_selection", "--json", "--to", "role:editor")

    assert said.code == 0, said.err
    assert json.loads(said.out) == {"selectedText": "here"}
    assert "looking" in said.err


@pytest.mark.requirement("bus.cli-send")
@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["get_selection"], 4, "no connected peer handles"),
        (["reload_window"], 5, "may not send"),
        (["signal_usr"], 4, "did you mean signal_user?"),
        (["log", "{"], 1, "not valid JSON"),
        (["log", "[]"], 1, "not a JSON object"),
        (["log", "{}"], 1, "required field `level`"),
        (["polo", "--to", "nobody"], 2, "connection:NAME"),
    ],
)
async def test_send_error_has_an_exit_code_for_its_reason(
    home: DaemonFolder, words: list[str], code: int, reason: str
) -> None:
    said = await home.symposium("bus", "send", *words)

    assert said.code == code
    assert reason in said.err
    assert said.out == ""


@pytest.mark.requirement("bus.cli-tail")
async def test_tail_shows_messages_without_secrets(home: DaemonFolder) -> None:
    await home.start()
    words = ("bus", "tail", "--json", "--type", "log", "--from", "test-cli")
    tail = await home.begin(*words)
    assert tail.stdout is not None
    async with home.client(Role.CLI) as cli, home.client(Role.APP) as app:
        seen = b""
        while not seen:
            await cli.post(Polo())
            await app.post(Log(level="info", message="not mine"))
            await cli.post(Log(level="info", message=f"key {SECRET}"))
            try:
                async with asyncio.timeout(0.1):
                    seen = await tail.stdout.readline()
            except TimeoutError:
                continue
    tail.terminate()
    await tail.communicate()

    shown = json.loads(seen)
    assert shown.keys() == {"at", "by", "name", "size", "message"}
    assert shown["message"]["payload"] == {"level": "info", "message": "key [redacted]"}


@pytest.mark.requirement("bus.cli-tail")
async def test_tail_shows_past_messages_with_filters(home: DaemonFolder) -> None:
    async with home.client(Role.CLI, starts=True) as cli:
        await cli.ready()
        await cli.post(Polo())
        for number in range(3):
            await cli.post(Log(level="info", message=f"number {number}"))
    every = await home.symposium("bus", "tail", "--last", "0", "--json")
    some = await home.symposium("bus", "tail", "--last", "0", "--json", "--type", "log")
    text = await home.symposium("bus", "tail", "--last", "0", "--type", "polo")

    assert [each["message"]["type"] for each in lines_of(every.out)] == ["polo", *["log"] * 3]
    assert len(lines_of(some.out)) == 3
    assert len(text.out.splitlines()) == 1
    assert "polo" in text.out
    assert "test-cli" in text.out


@pytest.mark.requirement("bus.cli-tail")
async def test_tail_without_a_daemon_shows_nothing_and_starts_none(
    home: DaemonFolder,
) -> None:
    said = await home.symposium("bus", "tail")

    assert said.code == 1
    assert "no daemon listens" in said.err
    assert not home.socket.exists()


@pytest.mark.requirement("bus.cli-replay")
async def test_replay_sends_recorded_messages_and_lists_the_rest(home: DaemonFolder) -> None:
    async with home.client(Role.CLI, starts=True) as cli:
        await cli.ready()
        await cli.post(Polo())
        await cli.post(Log(level="info", message="a log"))
    recorded = await home.symposium("bus", "tail", "--last", "0", "--json")
    file = home.folder / "recorded.jsonl"
    cut = json.dumps({"at": 1, "by": "c", "name": "n", "size": 9, "line": '{"type":"po'})
    secret = recorded.out.splitlines()[0].replace('"payload":{}', '"payload":{"x":"[redacted]"}')
    file.write_text(f"{recorded.out}{cut}\n{secret}\n", encoding="utf-8")
    dry = await home.symposium("bus", "replay", str(file), "--dry-run")
    received = asyncio.Event()
    answers = HandlerTable()

    async def polo(message: Polo, asked: RequestContext) -> None:
        del message
        assert asked.sender.working_directory == str(home.folder), "as its sender wrote it"
        received.set()

    answers.on_announcement(Polo, polo)
    async with home.client(Role.EDITOR, answers) as editor:
        await editor.ready()
        sent = await home.symposium("bus", "replay", str(file))
        await received.wait()

    assert len(dry.out.splitlines()) == 1
    assert (sent.code, sent.out.split(": ")[1]) == (0, "delivered 1\n")
    for reason in ("a log belongs to", "was recorded incompletely", "a secret was removed"):
        assert reason in sent.err


@pytest.mark.requirement("bus.cli-replay")
async def test_file_that_is_no_recording_is_named_with_its_line(home: DaemonFolder) -> None:
    file = home.folder / "odd.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    said = await home.symposium("bus", "replay", str(file))

    assert said.code == 1
    assert f"{file}:1 is not a recorded message" in said.err


@pytest.mark.requirement("bus.bridge")
async def test_bridge_passes_lines_and_ends_with_its_input(home: DaemonFolder) -> None:
    await home.start()
    bridge = await home.begin("bus", "bridge")
    assert bridge.stdin is not None
    assert bridge.stdout is not None
    hello = (
        b'{"type":"hello","id":"1","sender":{"workingDirectory":"/"},"payload":'
        b'{"protocol":2,"role":"editor","name":"vim"}}\n'
    )
    bridge.stdin.write(hello + b"broken\n")
    welcome, error = [json.loads(await bridge.stdout.readline()) for _ in range(2)]
    bridge.stdin.close()
    await bridge.wait()

    assert welcome["payload"]["success"]
    assert error["payload"]["code"] == "bad_message"
    assert bridge.returncode == 0


@pytest.mark.requirement("bus.bridge")
async def test_bridge_ends_with_the_daemon_and_a_special_exit_code(
    home: DaemonFolder,
) -> None:
    await home.start()
    bridge = await home.begin("bus", "bridge")
    assert bridge.stdin is not None
    assert bridge.stdout is not None
    bridge.stdin.write(b"x\n")
    await bridge.stdout.readline()
    await home.kill()
    await bridge.wait()
    bridge.stdin.close()

    assert bridge.returncode == 1


@pytest.mark.requirement("bus.bridge", "bus.v1-relay")
async def test_bridge_speaks_version_1_for_clients_of_the_reference(
    home: DaemonFolder,
) -> None:
    compat = str(home.compat)
    one = await home.begin(
        *("bus", "bridge", "--compat-socket", compat, "--identity-prefix", "vscode")
    )
    assert one.stdin is not None
    assert one.stdout is not None
    line = b'{"type":"marco","id":"1","sender":{"workingDirectory":"/"},"payload":{}}\n'
    one.stdin.write(line + b"x" * 200_000 + b"\n" + b"#debug_dump_messages\n")
    out = b""
    while out.count(b"\n") < 3:
        out += await one.stdout.read(65536)
    one.stdin.close()
    await one.wait()

    assert out.startswith(line + b"x" * 200_000 + b"\n"), "and more than a pipe holds"
    assert b"vscode(pid:" in out
