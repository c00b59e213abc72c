"""`symposium bus`: messages to a daemon with given answers."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.answering_daemon import AnsweringPart, answering

from localio.text import clock_of
from symposium.__main__ import main
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import (
    FindTaskspace,
    InboxAnswered,
    ListInbox,
    PutOffInbox,
    Tasks,
)

ID = "6f1c2a77-0000-4000-8000-000000000000"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[AnsweringPart]:
    """A daemon that finds no task and snoozes every item."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    async def refuse(message: ListInbox) -> InboxAnswered:
        raise BusRefusedError(f"not now: {message}", "failed")

    replies: dict[type[Any], Any] = {
        FindTaskspace: Tasks(taskspaces=(), total=2),
        PutOffInbox: InboxAnswered(text="snoozed"),
        ListInbox: refuse,
    }
    with answering(replies, tmp_path) as (part, socket):
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(socket))
        yield part


def bus(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output, and its errors."""
    done = CliRunner().invoke(main, ["bus", *words])
    return done.exit_code, done.stdout, done.stderr


def history(*words: str) -> list[Any]:
    return [json.loads(line) for line in bus("tail", "-n", "0", "--json", *words)[1].splitlines()]


@pytest.mark.requirement("bus.cli-send")
def test_send_prints_the_reply_and_the_progress(engine: AnsweringPart) -> None:
    engine.progress = [("looking", 1, 2)]
    message = '{"named":"fix"}'

    assert bus("send", "find_taskspace", message) == (
        *(0, "taskspaces (), total 2\n", "symposium: looking\n"),
    )
    assert engine.last() == FindTaskspace(named="fix")
    assert bus("send", "find_taskspace", message, "--json", "--to", "role:daemon") == (
        *(0, '{"taskspaces":[],"total":2}\n', "symposium: looking\n"),
    )
    assert bus("send", "polo") == (0, "delivered 0\n", "")
    assert bus("send", "polo", "--json") == (0, '{"delivered":0}\n', "")
    assert bus("send", "find_taskspace", message, "--to", "role:editor")[:2] == (4, "")
    assert len(engine.asked) == 2


@pytest.mark.requirement("bus.cli-send")
@pytest.mark.usefixtures("engine")
def test_wrong_message_or_receiver_is_named() -> None:
    docs = "see docs/reference/bus-messages.md"
    for words, code, said in (
        (["signal_usr"], 4, "unknown message type 'signal_usr'\n  did you mean signal_user?"),
        (["zzzzzzzzz"], 4, f"unknown message type 'zzzzzzzzz'\n  {docs}"),
        (["find_taskspace"], 1, f"field `named`\n  {docs}"),
        *(
            (["polo", "--to", to], 2, "write connection:NAME, role:NAME, or taskspace:UUID")
            for to in ("nobody", "role:", "user:x")
        ),
        (["polo", "[]"], 1, "the payload is not a JSON object"),
        (["list_inbox"], 1, "not now: ListInbox()"),
    ):
        done = bus("send", *words)
        assert done[:2] == (code, "")
        assert said in done[2]


@pytest.mark.requirement("bus.cli-tail")
@pytest.mark.usefixtures("engine")
def test_tail_shows_the_chosen_messages_of_the_past() -> None:
    for words in (
        ["polo"],
        ["put_off_inbox", '{"item":"a"}'],
        ["put_off_inbox", f'{{"item":"{ID}"}}'],
    ):
        bus("send", *words)
    requests = history("--type", "put_off_inbox", "--type", "polo")
    (first, second, third) = requests
    text = bus("tail", "-n", "0", "--type", "polo", "--from", "symposium(")

    assert [each["message"]["type"] for each in requests] == ["polo", *["put_off_inbox"] * 2]
    assert first["message"]["sender"]["workingDirectory"] == str(Path.cwd())
    assert text == (
        0,
        (
            f"{clock_of(first['at'])} {first['name']} ({first['by']}) polo "
            f"{first['message']['id'][:8]} {{}}\n"
        ),
        "",
    )
    assert [each["message"]["id"] for each in history("--taskspace", ID.upper())] == [
        third["message"]["id"]
    ]
    assert [each["by"] for each in history("--from", second["by"], "--type", "put_off_inbox")] == [
        second["by"]
    ]
    assert history("--from", "other") == []


@pytest.mark.requirement("bus.cli-replay")
def test_replay_sends_each_chosen_message_again(engine: AnsweringPart, tmp_path: Path) -> None:
    bus("send", "put_off_inbox", '{"item":"a"}')
    bus("send", "list_inbox")
    bus("send", "polo")
    recorded = [each for each in history() if each["message"]["type"] != "response"]
    engine.asked.clear()
    file = tmp_path / "recorded.jsonl"
    cut = {"at": 1, "by": "c", "name": "n", "size": 9, "line": '{"type":"po'}
    response = {**recorded[0], "message": {**recorded[0]["message"], "type": "response"}}
    sender = {**recorded[2]["message"]["sender"], "workingDirectory": "/elsewhere"}
    polo = {**recorded[2], "message": {**recorded[2]["message"], "sender": sender}}
    file.write_text("".join(f"{json.dumps(e)}\n" for e in (*recorded[:2], polo, cut, response)))
    ids = [each["message"]["id"] for each in recorded]

    dry = bus("replay", str(file), "--dry-run")
    assert (dry[0], [line.split()[3] for line in dry[1].splitlines()]) == (
        *(0, ["put_off_inbox", "list_inbox", "polo"]),
    )
    assert engine.asked == []
    skipped = [line.split(": ")[:2] for line in dry[2].splitlines()]
    assert skipped == [
        ["skipped", "it was recorded incompletely"],
        ["skipped", "a response belongs to a past exchange"],
    ]
    code, out, err = bus("replay", str(file))
    assert (code, out) == (
        1,
        f"put_off_inbox {ids[0]}: text snoozed\npolo {ids[2]}: delivered 0\n",
    )
    assert f"list_inbox {ids[1]}: not now: ListInbox()\n" in err
    assert engine.asked == [PutOffInbox(item="a"), ListInbox()]
    assert history("--type", "polo")[-1]["message"]["sender"]["workingDirectory"] == "/elsewhere"
    assert bus("replay", str(file), "--type", "polo") == (
        *(0, f"polo {ids[2]}: delivered 0\n", ""),
    )
    file.write_text('{"at": 1}\n')
    assert bus("replay", str(file)) == (
        *(1, ""),
        (
            f"symposium: {file}:1 is not a recorded message\n"
            "  record messages with: symposium bus tail --json\n"
        ),
    )


@pytest.mark.requirement("bus.cli-tail")
def test_tail_starts_no_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = tmp_path / "run" / "s"
    socket.parent.mkdir(mode=0o700)
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))

    assert bus("tail", "--socket", str(socket)) == (
        *(1, ""),
        f"symposium: no daemon listens at {socket}\n  symposium daemon start\n",
    )
