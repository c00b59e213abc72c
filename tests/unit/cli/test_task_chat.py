"""A chat with the agent of a task, whose session server is in this process."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.prompts import User, at_prompts
from tests.support.scripted_session import SESSION, FakeSessionServer, session_server
from tests.support.stdin_pieces import stdin_pieces

from peerwire.errors import RpcError
from symposium.cli.task_chat import chat_with_task
from symposium.sessions.client import ANSWER, CANCEL, DESCRIBE, EVENT, SAY, WATCH
from symposium.sessions.session import SessionKind

HELP = [
    "Enter sends, Alt-Enter or Ctrl-J starts a new line, Up recalls an earlier message.",
    "Ctrl-C cancels a turn; press it twice to leave.",
    "Press Ctrl-D or type /quit to leave; the agent continues.",
]
LEFT = "[you left; the agent continues]\n"
CANCELLING = "[canceling; Ctrl-C again leaves]"
IDLE: Mapping[str, Any] = {"seq": 0, "working": False, "waiting": 0, "questions": []}
YES = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
NO = {"optionId": "no", "name": "No", "kind": "reject_once"}


def question(number: int, *options: Mapping[str, str]) -> dict[str, Any]:
    return {"question": number, "wish": f"run {number}", "lines": ["$ x"], "options": [*options]}


class Server:
    """The session server of a chat; it numbers its events."""

    def __init__(self, fake: FakeSessionServer) -> None:
        self.fake = fake
        self._seq = 0

    def event(self, kind: str, **data: Any) -> None:
        self._seq += 1
        self.fake.notify(EVENT, {"seq": self._seq, "type": kind, "data": data})

    def text(self, words: str) -> None:
        content = {"type": "text", "text": words}
        self.event("update", sessionUpdate="agent_message_chunk", content=content)

    async def until(self, method: str, count: int = 1) -> Any:
        return await self.fake.until(method, count)


@asynccontextmanager
async def serving(cwd: Path, **now: Any) -> AsyncGenerator[Server]:
    answers: Mapping[str, Any] = {WATCH: {"events": []}, DESCRIBE: {**IDLE, **now}}
    async with session_server(SessionKind.ACP, cwd, answers) as fake:
        yield Server(fake)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")


async def talk(
    cwd: Path, script: Callable[[Server, User], Any], **now: Any
) -> tuple[FakeSessionServer, int, list[str]]:
    """Chat at a terminal as the script does; return the exit code and the shown lines."""
    async with serving(cwd, **now) as server:
        with at_prompts() as user:
            async with asyncio.TaskGroup() as tasks:
                chat = tasks.create_task(chat_with_task(server.fake.store, SESSION))
                await server.until(DESCRIBE)
                await script(server, user)
            shown = user.rest()
    return server.fake, chat.result(), shown.splitlines()


@pytest.mark.requirement("tasks.chat")
async def test_lines_of_a_pipe_are_sent_one_turn_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with stdin_pieces() as lines:
        lines.type(b"hello\n  \n/help me\n//mode\nlast", b"")
        async with serving(tmp_path) as server, asyncio.TaskGroup() as tasks:
            chat = tasks.create_task(chat_with_task(server.fake.store, SESSION))
            await server.until(SAY)
            server.event("prompt", text="hello")
            server.event("prompt", text="of another chat")
            server.event("question", **question(3, YES, NO))
            server.text("answer")
            server.event("settled", question=3)
            server.fake.answers[SAY] = RpcError(1, message="the queue is full")
            server.event("result", stopReason="refusal")
            await server.until(SAY, 2)
    out, err = capsys.readouterr()

    assert (chat.result(), err) == (0, "the queue is full\nthe queue is full\n")
    assert server.fake.of(SAY) == [{"text": "hello"}, {"text": "/mode"}, {"text": "last"}]
    assert server.fake.came[:2] == [(WATCH, {"since": 0}), (DESCRIBE, {})]
    assert server.fake.of(ANSWER) == []
    assert out.splitlines() == [
        "[prompt] of another chat",
        "[question 3] wants to run 3",
        "  answer it with `symposium inbox`",
        "answer",
        "[stopped: refusal]",
        "/help takes no argument; //help … passes it to the agent",
    ]


def asked(number: int, *names: str) -> list[str]:
    """The lines of a question."""
    choices = [f"    {at}) {name}" for at, name in enumerate(names, 1)]
    return [f"? The agent wants to run {number}", "    $ x", *choices]


def lines(*shown: str) -> bytes:
    return "".join(f"{line}\r\n" for line in shown).encode()


@pytest.mark.requirement("tasks.chat")
async def test_question_is_asked_and_its_answer_is_sent_with_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def script(server: Server, user: User) -> None:
        user.lines.type(b"1\n")
        await server.until(ANSWER)
        server.event("settled", question=4)
        await user.until(lines(*HELP, *asked(4, "No", "Yes"), *asked(3, "Yes")))
        server.event("settled", question=3)
        server.event("result", stopReason="end_turn")
        await user.says("")
        never = {**NO, "optionId": "never", "name": "Never", "kind": "reject_always"}
        options = [YES, NO, never]
        server.event("question", question=5, title="read 5", options=options, lines=None)
        user.lines.type(b"\n")
        await server.until(ANSWER, 2)
        server.event("question", **question(6, YES))
        read = ("? The agent wants to read 5", "    1) Yes", "    2) No", "    3) Never")
        await user.until(lines(*read, *asked(6, "Yes")))
        server.event("settled", question=6)
        await user.says("\x04")

    now = {"working": True, "questions": [question(4, NO, YES), question(3, YES)]}
    server, code, shown = await talk(tmp_path, script, **now)

    assert server.of(ANSWER) == [
        {"question": 4, "optionId": "no", "by": "task chat"},
        {"question": 5, "optionId": "no", "by": "task chat"},
    ]
    assert (code, server.of(CANCEL), shown) == (0, [], [])
    prompts = [f"  Choose 1-{last}, or press Enter for no: " for last in (2, 1, 3, 1)]
    assert capsys.readouterr().err == "".join([*prompts, LEFT])


@pytest.mark.requirement("tasks.chat")
async def test_question_without_a_denying_option_is_asked_until_it_is_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def script(server: Server, user: User) -> None:
        user.lines.type(b"\n")
        await user.until_shown("[no option denies this; Ctrl-C cancels the turn]")
        await user.until_shown("    1) Yes")
        server.event("settled", question=1)
        server.event("result", stopReason="end_turn")
        await user.says("\x04")

    server, code, _ = await talk(tmp_path, script, questions=[question(1, YES)])

    assert (code, server.of(ANSWER), server.of(CANCEL)) == (0, [], [])
    assert capsys.readouterr().err.endswith(LEFT)


@pytest.mark.requirement("tasks.chat")
async def test_refused_answer_is_shown_and_the_question_is_not_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def script(server: Server, user: User) -> None:
        server.fake.answers[ANSWER] = RpcError(1, message="answered by another user")
        user.lines.type(b"y\n")
        await server.until(ANSWER)
        await user.says("\x04")

    server, code, _ = await talk(tmp_path, script, questions=[question(1, YES, NO)])

    assert (code, len(server.of(ANSWER))) == (0, 1)
    assert capsys.readouterr().err.endswith(f"answered by another user\n{LEFT}")


@pytest.mark.requirement("tasks.chat")
async def test_ctrl_c_cancels_a_turn_once_and_leaves_the_second_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def script(server: Server, user: User) -> None:
        await user.interrupts()
        await server.until(CANCEL)
        server.event("result", stopReason="cancelled")
        await user.says("again\r")
        await server.until(SAY)
        await user.interrupts()
        await server.until(CANCEL, 2)
        await user.interrupts()

    server, code, shown = await talk(tmp_path, script, waiting=1)

    assert (code, len(server.of(CANCEL)), server.of(SAY)) == (130, 2, [{"text": "again"}])
    assert shown == [*HELP, CANCELLING, "[stopped: cancelled]", CANCELLING]
    assert capsys.readouterr().err == ""


@pytest.mark.requirement("tasks.chat")
async def test_ctrl_c_at_two_prompts_in_a_row_leaves(tmp_path: Path) -> None:
    async def script(_: Server, user: User) -> None:
        await user.says("\x03")
        await user.until_shown("[Ctrl-C again leaves]")
        await user.says("/help me\r")
        await user.until_shown("/help takes no argument; //help … passes it to the agent")
        await user.says("\x03")
        await user.until_shown("[Ctrl-C again leaves]")
        await user.says("\x03")

    server, code, shown = await talk(tmp_path, script)

    assert (code, server.of(SAY), shown) == (130, [], [])


@pytest.mark.requirement("tasks.chat", "cli.chat-settings")
async def test_line_typed_during_a_turn_is_sent_and_settings_cannot_be_changed(
    tmp_path: Path,
) -> None:
    async def script(server: Server, user: User) -> None:
        option = {
            "id": "m",
            "category": "mode",
            "currentValue": "ask",
            "options": [{"value": "ask"}, {"value": "plan"}],
        }
        server.event("update", sessionUpdate="config_option_update", configOptions=[option])
        user.lines.type(b"more\n")
        await server.until(SAY)
        server.event("result", stopReason="end_turn")
        server.event("prompt", text="more")
        server.event("result", stopReason="end_turn")
        await user.says("/mode plan\r")
        await user.until_shown(
            "the mode is unchanged: cannot change the mode of a task's agent here"
        )
        await user.says("/exit\r")

    server, code, _ = await talk(tmp_path, script, working=True)

    assert (code, server.of(SAY)) == (0, [{"text": "more"}])


@pytest.mark.requirement("tasks.chat")
@pytest.mark.parametrize("now", [{}, {"working": True}, {"questions": [question(1, YES, NO)]}])
async def test_chat_ends_with_the_session_at_any_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: Mapping[str, Any]
) -> None:
    async def script(server: Server, user: User) -> None:
        await user.until_shown(HELP[1])
        await asyncio.sleep(0)
        server.fake.close()

    server, code, shown = await talk(tmp_path, script, **now)

    assert (code, server.of(CANCEL), server.of(SAY)) == (0, [], [])
    assert shown[-1] == "[the session has ended]"
    assert "[you left" not in capsys.readouterr().err
