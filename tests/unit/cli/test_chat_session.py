"""A chat with an agent in this process."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.prompts import User, at_prompts
from tests.support.stdin_pieces import stdin_pieces

from peerwire.errors import RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from symposium.agents.testy.agent import serve_testy
from symposium.chain.blueprint import Served
from symposium.chain.conductor import Settings
from symposium.cli.chat import HELP, Chat, run_chat
from symposium.cli.talk_options import Permits
from symposium.errors import SymposiumError
from symposium.planning.chain_spec import ChainSpec

CALLBACKS = b'{"command":"callbacks"}\n'


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    chain = ChainSpec((), Served("testy", serve_testy))
    return Chat(chain, tmp_path, Permits("ask", "fail"), None, Settings())


@pytest.mark.requirement("cli.chat-leave", "cli.prompt-permission-no-tty", "cli.run-with-trace-dir")
async def test_request_that_no_user_can_answer_is_named_and_ends_the_turn(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = replace(chat, trace_dir=str(tmp_path / "traces"))
    with stdin_pieces() as lines:
        lines.type(CALLBACKS, b"  \n", b'{"command":"echo","message":"next"}\n', b" /quit \n")
        async with asyncio.timeout(20):
            code = await run_chat(chat)
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "[permission] edit: Do something that needs permission: no terminal to ask you",
        "[permission] edit: Do something that needs permission: no answer",
        "[stopped: cancelled]",
        "next",
    ]
    (trace,) = (tmp_path / "traces").iterdir()
    assert '"stopReason":"cancelled"' in trace.read_text(encoding="utf-8").replace(" ", "")


def initialized(_: Request) -> Mapping[str, Any]:
    offered = {"promptCapabilities": {"embeddedContext": True}}
    return {"protocolVersion": 1, "agentCapabilities": offered}


MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}],
}


def opened(_: Request) -> Mapping[str, Any]:
    return {"sessionId": "s", "modes": MODES}


class ScriptedAgent:
    """An agent that repeats each prompt, except those that name something else.

    Attributes:
        prompts: the content blocks of each prompt.
        modes: the params of each request for another mode.
    """

    def __init__(self) -> None:
        self.prompts: list[Any] = []
        self.modes: list[Any] = []
        self._canceled = asyncio.Event()
        self._prompted_again = asyncio.Event()

    async def prompted(self) -> None:
        """Wait for the next prompt."""
        await self._prompted_again.wait()
        self._prompted_again.clear()

    async def serve(self, transport: Transport) -> None:
        handlers = Handlers(
            {
                "initialize": initialized,
                "session/new": opened,
                "session/prompt": self._prompted,
                "session/set_mode": self._choose,
            },
            {"session/cancel": self._cancel},
        )
        self._connection = Connection(transport, handlers)
        await self._connection.run()

    def _choose(self, request: Request) -> Mapping[str, Any]:
        self.modes.append(request.params)
        return {}

    def _cancel(self, _: Any) -> None:
        self._canceled.set()

    async def _prompted(self, request: Request) -> Mapping[str, Any]:
        blocks = request.params["prompt"]
        self.prompts.append(blocks)
        self._prompted_again.set()
        match blocks[0]["text"]:
            case "fail":
                raise RpcError(1, message="not today")
            case "wait":
                await self._canceled.wait()
                self._canceled.clear()
                return {"stopReason": "cancelled"}
            case "hang":
                await asyncio.Event().wait()
            case text:
                content = {"type": "text", "text": f"{text}\n"}
                update = {"sessionUpdate": "agent_message_chunk", "content": content}
                self._connection.notify("session/update", {"sessionId": "s", "update": update})
        return {"stopReason": "end_turn"}


async def talk(
    chat: Chat, script: Callable[[User, ScriptedAgent], Awaitable[None]]
) -> tuple[int, list[list[Any]], list[str]]:
    """Chat at a terminal as the script does; return the exit code, the prompts, and the lines."""
    agent = ScriptedAgent()
    with at_prompts() as user:
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            chain = ChainSpec((), Served("scripted", agent.serve))
            running = tasks.create_task(run_chat(replace(chat, chain=chain)))
            await script(user, agent)
        shown = user.rest()
    return running.result(), agent.prompts, shown.splitlines()


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


NO_UNDO = (
    "nothing was undone: a chat takes no snapshots of its directory",
    "`git diff` shows the changes, `git restore PATH` undoes them",
    "/undo works in a task: create one with `symposium task new`, then use `symposium task chat`",
)


@pytest.mark.requirement("cli.chat-leave", "cli.chat-files", "cli.chat-own-commands")
@pytest.mark.requirement("cli.chat-settings", "cli.chat-undo")
async def test_prompts_are_sent_with_their_files_until_the_user_leaves(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("1\n")
    modes: list[Any] = []

    async def script(user: User, agent: ScriptedAgent) -> None:
        await user.says("hi @a.py\r")
        await user.until_shown("hi @a.py")
        await user.says("see @b.py\r")
        await user.until_part("not sent: @b.py does not exist in ")
        await agent.prompted()
        (tmp_path / "b.py").write_text("2\n")
        await user.says("\r")  # the text is in the line again
        await agent.prompted()
        await user.says("fail\r")
        await agent.prompted()
        await user.says("//mode\r")
        await user.until_shown("/mode")
        await user.says("/mode plan\r")
        await user.until_shown("[mode] Plan")
        modes.extend(agent.modes)
        await user.says("/undo\r")
        for line in NO_UNDO:
            await user.until_shown(line)
        await user.says("\x04")

    code, prompts, _ = await talk(chat, script)

    first, second = (
        {"type": "resource", "resource": {"uri": (tmp_path / name).as_uri(), "text": content}}
        for name, content in (("a.py", "1\n"), ("b.py", "2\n"))
    )
    assert prompts == [
        [text("hi @a.py"), first],
        [text("see @b.py"), second],
        [text("fail")],
        [text("/mode")],
    ]
    assert (code, "not today" in capsys.readouterr().err) == (0, True)
    assert modes == [{"sessionId": "s", "modeId": "plan"}]


@pytest.mark.requirement("cli.chat-cancel", "cli.chat-leave")
async def test_ctrl_c_cancels_a_turn_and_twice_in_a_row_leaves(chat: Chat) -> None:
    async def cancel(user: User, agent: ScriptedAgent) -> None:
        for line in ("starting scripted…", *HELP):
            await user.until_part(f"{line}\r\n")
        await user.says("\x03")
        await user.until_shown("[Ctrl-C again leaves]")
        await user.says("wait\r")
        await agent.prompted()
        await user.interrupts()
        await user.until_shown("[canceling; Ctrl-C again leaves]")
        await user.until_shown("[stopped: cancelled]")
        await user.says("\x03")
        await user.until_shown("[Ctrl-C again leaves]")
        await user.says("\x03")

    async def leave(user: User, agent: ScriptedAgent) -> None:
        await user.says("hang\r")
        await agent.prompted()
        await user.interrupts()
        await user.until_shown("[canceling; Ctrl-C again leaves]")
        await user.interrupts()

    twice, endless = await talk(chat, cancel), await talk(chat, leave)

    assert twice == (130, [[text("wait")]], [])
    assert endless[:2] == (130, [[text("hang")]])


@pytest.mark.requirement("cli.chat-agent-dies")
@pytest.mark.parametrize("at", ["prompt", "session/prompt"])
async def test_chat_ends_with_its_agent(chat: Chat, at: str) -> None:
    async def serve(transport: Transport) -> None:
        def end(_: Request) -> Mapping[str, Any]:
            connection.close()
            return {}

        def opened_then_ended(request: Request) -> Mapping[str, Any]:
            if at == "prompt":
                asyncio.get_running_loop().call_later(0, connection.close)
            return opened(request)

        handlers = Handlers(
            {
                "initialize": initialized,
                "session/new": opened_then_ended,
                "session/prompt": end,
            }
        )
        connection = Connection(transport, handlers)
        await connection.run()

    chain = ChainSpec((), Served("scripted", serve))
    with stdin_pieces() as lines:
        if at != "prompt":
            lines.type(b"go\n")
        async with asyncio.timeout(20):
            with pytest.raises(SymposiumError) as caught:
                await run_chat(replace(chat, chain=chain))

    if at == "prompt":
        assert caught.value.message == "the agent or a mod exited"
        assert caught.value.hint == "it wrote nothing to stderr"
