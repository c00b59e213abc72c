"""A client's conversation with an agent: files, permissions, and timeouts."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import INVALID_PARAMS, ConnectionClosedError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from symposium.chain.blueprint import Blueprint, Served
from symposium.chain.conductor import Settings
from symposium.client import conversation as conversations
from symposium.client.answers import ClientAnswers, PausableDeadline
from symposium.client.conversation import ClientTurn, Conversation, ConversationConfig, converse
from symposium.client.permissions import (
    ApproveAll,
    ApproveReads,
    Decider,
    Decision,
    DenyAll,
    Permission,
    ToolCallSummary,
    summarize,
)
from symposium.errors import AgentTimeoutError, StepError

EDIT = {"toolCallId": "1", "title": "edit", "kind": "edit"}
OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


class AskingAgent:
    """An agent whose turn is a coroutine with requests to the client."""

    def __init__(self, turn: Callable[[Connection], Any]) -> None:
        self.turn = turn
        self.initialized: Any = None
        self.logged_in: Any = None
        self.asked = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def serve(self, transport: Transport) -> None:
        self.connection = Connection(
            transport,
            Handlers(
                requests={
                    "initialize": self._initialize,
                    "session/new": lambda _: {"sessionId": "one"},
                    "session/prompt": self._prompt,
                    "authenticate": self._authenticate,
                },
                notifications={"session/cancel": lambda _: self.cancelled.set()},
            ),
        )
        await self.connection.run()

    def _initialize(self, request: Request) -> dict[str, Any]:
        self.initialized = request.params
        return {"protocolVersion": 1}

    def _authenticate(self, request: Request) -> dict[str, Any]:
        self.logged_in = request.params
        return {}

    async def _prompt(self, _: Request) -> dict[str, Any]:
        return {"stopReason": str(await self.turn(self.connection))}


class Undecided:
    """A user who never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def decide(self, permission: Permission) -> Decision:
        del permission
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def talking(
    agent: AskingAgent,
    decider: Decider,
    cwd: Path,
    seconds: float | None = None,
    *,
    on_update: Callable[[Any], None] = lambda _: None,
) -> AsyncGenerator[Conversation]:
    terms = ConversationConfig(cwd, decider, on_update, lambda _, __: None, seconds)
    blueprint = Blueprint([], Served("asking", agent.serve))
    async with converse(lambda _: blueprint, terms, Settings()) as conversation:
        await conversation.initialize()
        await conversation.new_session(str)
        yield conversation


async def write(connection: Connection, path: Path) -> str:
    """Write a file through the client; return the result or the error."""
    params = {"sessionId": "one", "path": str(path), "content": "text"}
    try:
        await connection.request("fs/write_text_file", params)
    except RpcError as error:
        return str(error.data)
    return "written"


async def permission(connection: Connection, **members: Any) -> str:
    call = {**EDIT, **members}
    params = {"sessionId": "one", "toolCall": call, "options": OPTIONS}
    result = await connection.request("session/request_permission", params)
    return str(result["outcome"])


@pytest.mark.requirement("cli.client-capabilities")
async def test_client_offers_files_and_no_terminals(tmp_path: Path) -> None:
    async def turn(connection: Connection) -> str:
        with pytest.raises(RpcError) as refusal:
            await connection.request("terminal/create", {"sessionId": "one", "command": "ls"})
        return str(refusal.value.code)

    agent = AskingAgent(turn)
    async with talking(agent, DenyAll(), tmp_path) as conversation:
        assert await conversation.prompt("one", "go") == "-32601"

    assert agent.initialized["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": False,
    }


@pytest.mark.requirement("cli.client-files")
async def test_agent_reads_lines_of_a_file_and_a_malformed_request_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "poem").write_text("one\ntwo\nthree\n")
    found: list[Any] = []

    async def turn(connection: Connection) -> str:
        params = {"sessionId": "one", "path": str(tmp_path / "poem")}
        part = {**params, "line": 2, "limit": 1}
        found.append(await connection.request("fs/read_text_file", params))
        found.append(await connection.request("fs/read_text_file", part))
        for method in ("fs/read_text_file", "session/request_permission"):
            with pytest.raises(RpcError) as refused:
                await connection.request(method, [1])
            found.append(refused.value.code)
        return "end_turn"

    async with talking(AskingAgent(turn), DenyAll(), tmp_path) as conversation:
        await conversation.prompt("one", "go")

    assert found == [
        {"content": "one\ntwo\nthree\n"},
        {"content": "two\n"},
        *(INVALID_PARAMS, INVALID_PARAMS),
    ]


@pytest.mark.requirement("cli.client-writes-ask")
async def test_file_is_written_only_with_permission(tmp_path: Path) -> None:
    async def turn(connection: Connection) -> str:
        return await write(connection, tmp_path / "file")

    async with talking(AskingAgent(turn), DenyAll(), tmp_path) as conversation:
        assert "was not permitted" in await conversation.prompt("one", "go")
    assert not (tmp_path / "file").exists()

    async with talking(AskingAgent(turn), ApproveAll(), tmp_path) as conversation:
        assert await conversation.prompt("one", "go") == "written"
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.requirement("cli.client-writes-ask")
async def test_allowed_edit_needs_no_second_permission_in_its_turn(tmp_path: Path) -> None:
    class Once:
        """Allows the first request only."""

        is_asked = False

        async def decide(self, permission: Permission) -> Decision:
            rule = DenyAll() if self.is_asked else ApproveAll()
            self.is_asked = True
            return await rule.decide(permission)

    has_permission: list[str] = []

    async def turn(connection: Connection) -> str:
        if not has_permission:
            locations = [{"path": str(tmp_path / "file")}]
            has_permission.append(await permission(connection, locations=locations))
        other = await write(connection, tmp_path / "other")
        return f"{await write(connection, tmp_path / 'file')}, {other}"

    async with talking(AskingAgent(turn), Once(), tmp_path) as conversation:
        first = await conversation.prompt("one", "go")
        second = await conversation.prompt("one", "go")

    assert first.startswith("written, writing")
    assert "file was not permitted" in second


@pytest.mark.requirement("approvals.one-grant")
async def test_permission_to_read_does_not_allow_writing(tmp_path: Path) -> None:
    async def turn(connection: Connection) -> str:
        locations = [{"path": str(tmp_path / "file")}]
        answer = await permission(connection, kind="read", locations=locations)
        return f"{answer}, {await write(connection, tmp_path / 'file')}"

    decider = ApproveReads(otherwise=DenyAll())
    async with talking(AskingAgent(turn), decider, tmp_path) as conversation:
        answer = await conversation.prompt("one", "go")

    assert "'optionId': 'y'" in answer
    assert "was not permitted" in answer
    assert not (tmp_path / "file").exists()


@pytest.mark.requirement("approvals.wish")
async def test_permission_request_includes_earlier_updates_of_its_call(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    class Noting:
        async def decide(self, permission: Permission) -> Decision:
            asked.append(summarize(permission.tool_call, tmp_path).text)
            return await DenyAll().decide(permission)

    async def turn(connection: Connection) -> str:
        def tell(**members: Any) -> None:
            update = {"sessionUpdate": "tool_call_update", "toolCallId": "7", **members}
            connection.notify("session/update", {"sessionId": "one", "update": update})

        async def ask(**members: Any) -> None:
            call = {"toolCallId": "7", **members}
            params = {"sessionId": "one", "toolCall": call, "options": OPTIONS}
            await connection.request("session/request_permission", params)

        tell(title="Bash", kind="execute")
        tell(rawInput={"command": "rm -rf x"}, title=None)
        await ask()
        await ask(rawInput={"command": "ls"}, content=[])
        tell(status="failed")
        await ask()
        return "done"

    async with talking(AskingAgent(turn), Noting(), tmp_path) as conversation:
        await conversation.prompt("one", "go")

    assert asked == ["run: rm -rf x", "run: ls", "do this: call 7"]


@pytest.mark.requirement("approvals.wish", "approvals.change-shown")
async def test_write_without_permission_asks_with_the_changed_lines(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old\n")
    asked: list[ToolCallSummary] = []

    class Noting:
        async def decide(self, permission: Permission) -> Decision:
            asked.append(summarize(permission.tool_call, tmp_path))
            return await DenyAll().decide(permission)

    async def turn(connection: Connection) -> str:
        await write(connection, tmp_path / "file")
        return await write(connection, tmp_path / "new")

    async with talking(AskingAgent(turn), Noting(), tmp_path) as conversation:
        await conversation.prompt("one", "go")

    assert asked == [
        ToolCallSummary("edit file (+1 -1)", ("-old", "+text")),
        ToolCallSummary("edit new (+1 -0)", ("+text",)),
    ]


@pytest.mark.requirement("cli.client-cancel-permissions")
async def test_canceled_turn_withdraws_its_permission_request(tmp_path: Path) -> None:
    somebody = Undecided()
    async with (
        talking(AskingAgent(permission), somebody, tmp_path) as conversation,
        asyncio.TaskGroup() as tasks,
    ):
        turn = tasks.create_task(conversation.prompt("one", "go"))
        await somebody.asked.wait()
        conversation.cancel("one")

        assert await turn == "{'outcome': 'cancelled'}"


@pytest.mark.requirement("cli.exit-timeout")
async def test_late_answer_times_out(tmp_path: Path) -> None:
    async def turn(_: Connection) -> str:
        await asyncio.Event().wait()
        return ""

    async with talking(AskingAgent(turn), DenyAll(), tmp_path, 0.01) as conversation:
        with pytest.raises(AgentTimeoutError, match=r"session/prompt within 0\.01 s"):
            await conversation.prompt("one", "go")


@pytest.mark.requirement("cli.exit-timeout")
async def test_timeout_is_paused_while_the_user_decides() -> None:
    deadline = PausableDeadline(5.0)
    async with deadline.limit():
        first = deadline.deadline
        with deadline.paused(), deadline.paused():
            assert deadline.deadline is None
        second = deadline.deadline
    with deadline.paused():
        pass  # no timeout is running

    assert first is not None
    assert second is not None
    assert second >= first
    assert deadline.deadline is None


@pytest.mark.requirement("cli.exit-timeout")
async def test_decision_does_not_count_against_the_agents_timeout(tmp_path: Path) -> None:
    deadline = PausableDeadline(5.0)
    deadlines: list[float | None] = []

    class Looking:
        async def decide(self, permission: Permission) -> Decision:
            deadlines.append(deadline.deadline)
            return await ApproveAll().decide(permission)

    async with deadline.limit():
        answers = ClientAnswers(tmp_path, Looking(), lambda _, __: None, deadline)
        write = answers.handlers()["fs/write_text_file"]
        params = {"sessionId": "one", "path": str(tmp_path / "file"), "content": "text"}
        assert await write(Request("fs/write_text_file", params, b"1")) == {}

    assert deadlines == [None]


@pytest.mark.requirement("cli.bad-agent-closes")
async def test_error_names_the_step_at_which_a_chain_ended(tmp_path: Path) -> None:
    async def turn(connection: Connection) -> str:
        connection.close()
        await asyncio.Event().wait()
        return ""

    async with talking(AskingAgent(turn), DenyAll(), tmp_path) as conversation:
        with pytest.raises(StepError) as error:
            await conversation.prompt("one", "go")

    assert error.value.step == "session/prompt"


@pytest.mark.requirement("cli.client-writes-ask", "cli.client-files")
@pytest.mark.parametrize("path", ["/outside", "relative"])
async def test_no_permission_is_requested_for_a_file_that_cannot_be_written(
    path: str, tmp_path: Path
) -> None:
    asked: list[Permission] = []

    class Noting:
        async def decide(self, permission: Permission) -> Decision:
            asked.append(permission)
            return await ApproveAll().decide(permission)

    async def turn(connection: Connection) -> str:
        return await write(connection, Path(path))

    async with talking(AskingAgent(turn), Noting(), tmp_path) as conversation:
        answer = await conversation.prompt("one", "go")

    assert path in answer
    assert asked == []


@pytest.mark.requirement("cli.client-cancel-permissions")
async def test_timeout_of_a_decider_is_an_error_and_does_not_cancel_the_turn(
    tmp_path: Path,
) -> None:
    class Late:
        async def decide(self, permission: Permission) -> Decision:
            raise TimeoutError(permission.tool_call.title)

    async def turn(connection: Connection) -> str:
        with pytest.raises(RpcError) as refusal:
            await permission(connection)
        return str(refusal.value.code)

    async with talking(AskingAgent(turn), Late(), tmp_path) as conversation:
        assert await conversation.prompt("one", "go") == "-32603"


@pytest.mark.requirement("cli.exit-timeout")
async def test_agent_is_canceled_when_a_turn_times_out(tmp_path: Path) -> None:
    async def turn(_: Connection) -> str:
        await asyncio.Event().wait()
        return ""

    agent = AskingAgent(turn)
    async with talking(agent, DenyAll(), tmp_path, seconds=0.01) as conversation:
        with pytest.raises(AgentTimeoutError):
            await conversation.prompt("one", "go")
        await agent.cancelled.wait()


@pytest.mark.requirement("cli.exit-interrupted")
async def test_agent_is_canceled_when_a_turn_is_stopped(tmp_path: Path) -> None:
    async def turn(_: Connection) -> str:
        agent.asked.set()
        await agent.cancelled.wait()
        return "stopped"

    agent = AskingAgent(turn)
    async with talking(agent, DenyAll(), tmp_path) as conversation, asyncio.TaskGroup() as tasks:
        running = ClientTurn(conversation, "one")
        outcome = tasks.create_task(running.run("go"))
        await agent.asked.wait()
        running.stop()

    assert outcome.result() == "stopped"


@pytest.mark.requirement("cli.exit-interrupted")
async def test_stopped_turn_of_a_silent_agent_ends_after_its_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def turn(_: Connection) -> str:
        await asyncio.Event().wait()
        return ""

    assert conversations.CANCEL_GRACE == 5
    monkeypatch.setattr(conversations, "CANCEL_GRACE", 0.0)
    agent = AskingAgent(turn)
    async with talking(agent, DenyAll(), tmp_path) as conversation, asyncio.timeout(5):
        running = ClientTurn(conversation, "one")
        asyncio.get_running_loop().call_soon(running.stop)

        assert await running.run("go") == "cancelled"


@pytest.mark.requirement("cli.exit-timeout")
async def test_wait_ends_with_the_chain_and_keeps_its_own_timeout(tmp_path: Path) -> None:
    async def expire() -> None:
        raise TimeoutError

    async def turn(_: Connection) -> str:
        return ""

    async with talking(AskingAgent(turn), DenyAll(), tmp_path) as conversation:
        with pytest.raises(TimeoutError):
            await conversation.until_ended(expire())
        conversation.over()
        with pytest.raises(ConnectionClosedError, match="the chain has ended"):
            await conversation.until_ended(asyncio.Event().wait())


@pytest.mark.requirement("cli.conversation")
async def test_opened_session_is_reported_with_its_answer(tmp_path: Path) -> None:
    opened: list[str] = []
    async with talking(AskingAgent(str), DenyAll(), tmp_path) as conversation:
        assert await conversation.new_session(opened.append) == "one"
        assert (opened, conversation.opened) == (["one"], {"sessionId": "one"})


@pytest.mark.requirement("cli.conversation")
async def test_login_names_the_method_to_the_agent(tmp_path: Path) -> None:
    agent = AskingAgent(lambda _: None)
    async with talking(agent, DenyAll(), tmp_path) as conversation:
        await conversation.log_in("browser")

    assert agent.logged_in == {"methodId": "browser"}


@pytest.mark.requirement("cli.conversation")
async def test_updates_of_a_turn_are_received_in_order_and_before_its_end(tmp_path: Path) -> None:
    received: list[Any] = []

    async def turn(connection: Connection) -> str:
        for number in range(3):
            connection.notify("session/update", {"sessionId": "one", "update": {"n": number}})
        return "end_turn"

    agent = AskingAgent(turn)
    async with talking(agent, DenyAll(), tmp_path, on_update=received.append) as conversation:
        assert await conversation.prompt("one", "go") == "end_turn"
        assert [each["update"]["n"] for each in received] == [0, 1, 2]
