"""Tools of a mod for an agent that speaks MCP over ACP itself."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from peerwire.errors import INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.handlers import Request
from peerwire.mcp.client import open_server
from peerwire.mcp.session import AcpMcpConnections
from symposium.agents.testy.scenario import ListTools, render_command
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, from_client
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolContext, ToolServer
from symposium.testing import FakeAgent, FakeEditor, ModLike, chain_of

SETUP = ["session/new", "session/load", "session/resume", "session/fork"]


def echo(message: str) -> str:
    """Echo the message."""
    return f"Echo: {message}"


def native_agent() -> FakeAgent:
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": {"acp": True}}
    for method in SETUP[1:]:
        agent.requests[method] = lambda _: {}
    agent.requests["session/close"] = lambda _: {}
    return agent


@asynccontextmanager
async def native_chain(
    *mods: ModLike, agent: FakeAgent | None = None
) -> AsyncGenerator[tuple[FakeEditor, FakeAgent], None]:
    agent = agent or native_agent()
    async with chain_of(*mods, agent=agent) as editor:
        await editor.initialize()
        yield editor, agent


def declared(agent: FakeAgent, method: str = "session/new") -> list[dict[str, Any]]:
    return next(
        received.params["mcpServers"]
        for received in reversed(agent.received.items)
        if received.method == method
    )


async def ask(agent: FakeAgent, method: str, params: Mapping[str, Any]) -> Any:
    assert agent.connection is not None
    return await agent.connection.request(method, params)


async def connect(agent: FakeAgent, server_id: str) -> str:
    return (await ask(agent, "mcp/connect", {"serverId": server_id}))["connectionId"]


async def message(agent: FakeAgent, connection: str, method: str, params: Any = None) -> Any:
    wrapped = {"connectionId": connection, "method": method, "params": params}
    return await ask(agent, "mcp/message", wrapped)


@pytest.mark.requirement("bridge.declare", "bridge.declare-all-setup-methods")
@pytest.mark.parametrize("method", SETUP)
async def test_server_of_a_mod_is_declared_in_every_setup_request(method: str) -> None:
    server = ToolServer("tools", [echo])
    own: dict[str, Any] = {"name": "files", "command": "files", "args": [], "env": []}
    async with native_chain(ToolMod(server)) as (editor, agent):
        params: dict[str, Any] = {"cwd": "/", "sessionId": "s", "mcpServers": [own], "vendor": [1]}
        await editor.connection.request(method, params)
        last = agent.received.items[-1]
    ours = {"type": "acp", "name": "tools", "serverId": server.server_id}
    assert last.params == params | {"mcpServers": [own, ours]}


@pytest.mark.requirement("bridge.declare")
async def test_setup_request_without_an_array_gains_one_and_another_type_is_left() -> None:
    async with native_chain(ToolMod(ToolServer("tools", [echo]))) as (editor, agent):
        await editor.connection.request("session/resume", {"sessionId": "s", "cwd": "/"})
        assert len(declared(agent, "session/resume")) == 1
        await editor.connection.request("session/load", {"sessionId": "s", "mcpServers": "odd"})
        assert agent.received.items[-1].params == {"sessionId": "s", "mcpServers": "odd"}


@pytest.mark.requirement("bridge.declare-keeps-handlers")
@pytest.mark.parametrize("is_slow", [False, True])
async def test_handler_of_a_mod_runs_too_and_sees_the_response(*, is_slow: bool) -> None:
    seen: list[Any] = []

    class Both(ToolMod):
        @from_client("session/new")
        def note(self, message: ChainMessage) -> Any:
            def then(answer: Any) -> None:
                seen.append(answer.result)

            outcome = Forward(message.params | {"noted": True}, then=then)

            async def later() -> Forward:
                return outcome

            return later() if is_slow else outcome

    async with native_chain(Both(ToolServer("tools", [echo]))) as (editor, agent):
        await editor.new_session()
        assert agent.received.items[-1].params["noted"] is True
        assert [server["name"] for server in declared(agent)] == ["tools"]
        assert seen == [{"sessionId": "session-1"}]


@pytest.mark.requirement("bridge.declare-keeps-handlers")
async def test_mod_that_handles_every_method_sees_setup_requests_and_mcp() -> None:
    seen: list[str] = []

    class Curious(ToolMod):
        @from_client("*")
        def note(self, message: ChainMessage) -> Forward:
            seen.append(message.method)
            return Forward()

    async with native_chain(Curious(ToolServer("tools", [echo]))) as (editor, agent):
        await editor.new_session()
        assert len(declared(agent)) == 1
    assert seen == ["initialize", "session/new"]


@pytest.mark.requirement("bridge.declare-before-forward")
async def test_server_can_be_used_before_the_session_response() -> None:
    agent = native_agent()
    results: list[Any] = []

    async def eager(request: Request) -> dict[str, Any]:
        connection = await connect(agent, request.params["mcpServers"][0]["serverId"])
        results.append(await message(agent, connection, "tools/list"))
        return {"sessionId": "s"}

    agent.requests["session/new"] = eager
    async with native_chain(ToolMod(ToolServer("tools", [echo])), agent=agent) as (editor, _):
        await editor.new_session()
    assert [tool["name"] for tool in results[0]["tools"]] == ["echo"]


@pytest.mark.requirement("bridge.connect-routed", "bridge.connect-answered")
async def test_connect_passes_components_that_do_not_own_the_server() -> None:
    first, second = ToolServer("first", [echo]), ToolServer("second", [echo])
    async with native_chain(ToolMod(first), "pass", ToolMod(second), "pass") as (_, agent):
        for server in (first, second):
            connection = await connect(agent, server.server_id)
            assert connection.startswith("mcp-over-acp-connection:")
            answer = await message(agent, connection, "initialize", {})
            assert answer["serverInfo"]["name"] == server.name


@pytest.mark.requirement("bridge.connect-several", "bridge.disconnect", "bridge.unknown-connection")
async def test_connections_of_one_server_are_separate_and_end_separately() -> None:
    server = ToolServer("tools", [echo])
    async with native_chain(ToolMod(server)) as (_, agent):
        one, other = [await connect(agent, server.server_id) for _ in range(2)]
        assert one != other
        await message(agent, one, "initialize", {"protocolVersion": "2024-11-05"})
        assert await ask(agent, "mcp/disconnect", {"connectionId": one}) == {}
        with pytest.raises(RpcError) as caught:
            await message(agent, one, "ping")
        assert caught.value.code == INVALID_PARAMS
        assert caught.value.data == {"reason": "unknown MCP connection", "connectionId": one}
        assert await message(agent, other, "ping") == {}


@pytest.mark.requirement("bridge.unknown-connection", "bridge.life-unknown-connection-survives")
async def test_unknown_connection_is_refused_and_everything_continues() -> None:
    server = ToolServer("tools", [echo])
    async with native_chain(ToolMod(server)) as (_, agent):
        assert agent.connection is not None
        agent.connection.notify("mcp/message", {"connectionId": "none", "method": "x"})
        with pytest.raises(RpcError) as caught:
            await message(agent, "none", "ping")
        assert caught.value.code == INVALID_PARAMS
        assert caught.value.data == {"reason": "unknown MCP connection", "connectionId": "none"}
        assert await connect(agent, server.server_id)


@pytest.mark.requirement("bridge.unknown-server")
async def test_server_without_an_owner_is_named_in_the_error() -> None:
    async with native_chain(ToolMod(ToolServer("tools", [echo]))) as (_, agent):
        with pytest.raises(RpcError) as caught:
            await connect(agent, "mcp-server:none")
    assert caught.value.data == {"reason": "unknown MCP server", "serverId": "mcp-server:none"}


@pytest.mark.requirement("bridge.message-request", "bridge.message-error")
async def test_results_pass_unchanged_and_errors_are_the_servers() -> None:
    server = ToolServer("tools", [echo])
    async with native_chain(ToolMod(server)) as (_, agent):
        connection = await connect(agent, server.server_id)
        params = {"name": "echo", "arguments": {"message": "hi"}}
        assert await message(agent, connection, "tools/call", params) == {
            "content": [{"type": "text", "text": '"Echo: hi"'}],
            "isError": False,
        }
        with pytest.raises(RpcError) as caught:
            await message(agent, connection, "tools/call", {"name": "nope"})
        assert caught.value.code == INVALID_PARAMS
        assert caught.value.message == "Tool not found: nope"
        assert caught.value.data == {"tool": "nope", "server": "tools"}


@pytest.mark.requirement("bridge.message-params")
@pytest.mark.parametrize("params", [[], [1]])
async def test_positional_params_are_refused(params: Any) -> None:
    server = ToolServer("tools", [echo])
    async with native_chain(ToolMod(server)) as (_, agent):
        connection = await connect(agent, server.server_id)
        with pytest.raises(RpcError) as caught:
            await message(agent, connection, "tools/list", params)
        assert caught.value.code == INVALID_PARAMS
        assert await message(agent, connection, "ping", None) == {}


@pytest.mark.requirement("bridge.message-params", "bridge.message-notification")
async def test_message_without_a_method_is_refused_and_a_notification_calls_no_tool() -> None:
    called: list[str] = []

    def note(text: str) -> None:
        called.append(text)

    server = ToolServer("tools", [note])
    async with native_chain(ToolMod(server)) as (_, agent):
        connection = await connect(agent, server.server_id)
        with pytest.raises(RpcError) as caught:
            await ask(agent, "mcp/message", {"connectionId": connection})
        assert caught.value.code == INVALID_PARAMS
        assert caught.value.data == "mcp/message needs a method"
        call = {"name": "note", "arguments": {"text": "x"}}
        wrapped = {"connectionId": connection, "method": "tools/call", "params": call}
        assert agent.connection is not None
        agent.connection.notify("mcp/message", wrapped)
        assert await message(agent, connection, "ping") == {}
    assert called == []


@pytest.mark.requirement("bridge.message-notification", "bridge.message-server-to-client")
async def test_server_requests_and_notifications_reach_the_agent_in_order() -> None:
    async def interview(context: ToolContext) -> str:
        context.notify("notifications/message", {"data": "one"})
        answer = await context.request("elicitation/create", {"message": "Name?"})
        context.notify("notifications/tools/list_changed")
        return answer["content"]["name"]

    server = ToolServer("tools", [interview])
    agent = native_agent()
    agent.requests["mcp/message"] = lambda _: {"action": "accept", "content": {"name": "Ada"}}
    async with native_chain(ToolMod(server), agent=agent) as (_, _agent):
        connection = await connect(agent, server.server_id)
        assert agent.connection is not None
        tell = {"connectionId": connection, "method": "notifications/initialized"}
        agent.connection.notify("mcp/message", tell)
        result = await message(agent, connection, "tools/call", {"name": "interview"})
        notification = [
            each.params for each in agent.received.items if each.method == "mcp/message"
        ]
    assert result["content"][0]["text"] == '"Ada"'
    assert notification == [
        {"connectionId": connection, "method": method, **params}
        for method, params in (
            ("notifications/message", {"params": {"data": "one"}}),
            ("elicitation/create", {"params": {"message": "Name?"}}),
            ("notifications/tools/list_changed", {}),
        )
    ]


@pytest.mark.requirement("bridge.message-wrapper-kept")
async def test_other_members_of_a_wrapper_are_kept_both_ways() -> None:
    seen: list[Any] = []

    class Owner(Mod):
        """Replaces an owner from another program."""

    agent = native_agent()
    agent.requests["mcp/message"] = lambda request: seen.append(request.params) or {}
    async with native_chain(Owner(), agent=agent) as (editor, _):
        editor.answers["mcp/message"] = lambda request: seen.append(request.params) or {}
        wrapped = {"connectionId": "c", "method": "m", "_meta": {"a": 1}, "vendor": None}
        await ask(agent, "mcp/message", wrapped)
        await editor.connection.request("mcp/message", wrapped)
    assert seen == [wrapped, wrapped]


@pytest.mark.requirement("bridge.tool-context")
async def test_tool_gets_its_server_and_its_caller() -> None:
    def who(context: ToolContext) -> list[str]:
        return [context.server_id, context.connection_id]

    server = ToolServer("tools", [who])
    async with native_chain(ToolMod(server)) as (_, agent):
        connection = await connect(agent, server.server_id)
        result = await message(agent, connection, "tools/call", {"name": "who"})
    assert result["content"][0]["text"] == f'["{server.server_id}","{connection}"]'


@pytest.mark.requirement("bridge.message-server-to-client", "bridge.disconnect")
async def test_builtin_client_answers_a_ping_and_sees_the_end() -> None:
    async def probe(context: ToolContext) -> list[Any]:
        context.notify("notifications/message", {"data": "received by no one"})
        answers: list[Any] = [await context.request("ping")]
        try:
            await context.request("roots/list")
        except RpcError as error:
            answers.append(error.code)
        return answers

    agent, tunnels = native_agent(), AcpMcpConnections()
    agent.requests |= tunnels.requests
    async with native_chain(ToolMod(ToolServer("tools", [probe])), agent=agent) as (editor, _):
        await editor.new_session()
        tunnels.connection = agent.connection
        async with open_server(declared(agent)[0], tunnels=tunnels) as server:
            result = await server.call_tool("probe")
            assert result.text == f"[{{}},{METHOD_NOT_FOUND}]"
        for method in ("mcp/message", "mcp/disconnect"):
            gone = {"connectionId": "gone", "method": "ping"}
            outcome = editor.connection.request(method, gone)
            if method == "mcp/message":
                assert (await refused(outcome)).code == INVALID_PARAMS
            else:
                assert await outcome == {}


@pytest.mark.requirement("bridge.tools-scoped-proxy")
async def test_tool_reaches_the_state_of_its_mod() -> None:
    class Notes(ToolMod):
        def __init__(self) -> None:
            self.notes = ["first"]
            super().__init__(ToolServer("notes", [self.push]))

        def push(self, note: str) -> int:
            self.notes.append(note)
            return len(self.notes)

    notes = Notes()
    async with native_chain(notes) as (editor, agent):
        await editor.new_session()
        tunnels = AcpMcpConnections()
        tunnels.connection = agent.connection
        async with open_server(declared(agent)[0], tunnels=tunnels) as server:
            result = await server.call_tool("push", {"note": "second"})
    assert result.text == "2"
    assert notes.notes == ["first", "second"]


@pytest.mark.requirement("bridge.tools-scoped-session")
async def test_editor_may_attach_a_server_to_one_session() -> None:
    pushed: list[str] = ["first"]

    def push(note: str) -> int:
        pushed.append(note)
        return len(pushed)

    server = ToolServer("own", [push])
    async with native_chain("pass") as (editor, agent):
        connection = server.connect(FakeCaller())

        def answer(request: Request) -> Any:
            return connection.answer(request.params["method"], request.params.get("params"))

        editor.answers["mcp/connect"] = lambda _: {"connectionId": connection.connection_id}
        editor.answers["mcp/disconnect"] = lambda _: {}
        editor.answers["mcp/message"] = answer
        await editor.new_session(servers=[server.declaration()])
        tunnels = AcpMcpConnections()
        tunnels.connection = agent.connection
        async with open_server(declared(agent)[0], tunnels=tunnels) as opened:
            result = await opened.call_tool("push", {"note": "second"})
    assert result.text == "2"


class FakeCaller:
    """Other end of a connection that is never written to."""

    async def request(self, method: str, params: Any = None) -> Any:
        raise RpcError(METHOD_NOT_FOUND, [method, params])

    def notify(self, method: str, params: Any = None) -> None:
        raise AssertionError([method, params])


class PerSession(ToolMod):
    """Gives each session its own server."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[ToolServer] = []
        self.calls: list[tuple[str | ToolServer, ...]] = []

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        del params
        server = ToolServer("own", [echo])
        self.made.append(server)
        return [server]

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        self.calls.append((session_id, *servers))

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        self.calls.append(("ended", *servers))


@pytest.mark.requirement("bridge.ids-per-server")
async def test_server_of_one_session_ends_with_it() -> None:
    mod = PerSession()
    async with native_chain(mod) as (editor, agent):
        first = await editor.new_session()
        again: dict[str, Any] = {"sessionId": "old", "cwd": "/", "mcpServers": []}
        await editor.connection.request("session/load", again)
        # Neither the request nor the answer names a session.
        await editor.connection.request("session/fork", {"cwd": "/", "mcpServers": []})
        one, other, nameless = mod.made
        kept = await connect(agent, one.server_id)
        await editor.connection.request("session/close", {"sessionId": first})
        with pytest.raises(RpcError, match="unknown MCP connection"):
            await message(agent, kept, "ping")
        with pytest.raises(RpcError, match="unknown MCP server"):
            await connect(agent, one.server_id)
        assert await connect(agent, other.server_id)
        assert await connect(agent, nameless.server_id)
    assert mod.calls == [(first, one), ("old", other), ("ended", one)]


@pytest.mark.requirement("conductor.cancel-cleans-mcp")
async def test_canceled_session_answers_nothing_afterwards() -> None:
    mod = PerSession()
    agent = native_agent()
    asked = asyncio.Event()

    async def never(_: Request) -> Any:
        asked.set()
        await asyncio.Event().wait()

    agent.requests["session/new"] = never
    async with native_chain(mod, agent=agent) as (editor, _):
        async with asyncio.TaskGroup() as tasks:
            setting_up = tasks.create_task(refused(editor.new_session()))
            await asked.wait()
            assert await connect(agent, mod.made[0].server_id)
            # The editor's second request: `initialize` was the first.
            editor.connection.notify("$/cancel_request", {"requestId": 2})
        assert setting_up.result().code == REQUEST_CANCELLED
        with pytest.raises(RpcError, match="unknown MCP server"):
            await connect(agent, mod.made[0].server_id)


async def refused(work: Any) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await work
    return caught.value


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_tool_stops_when_the_agent_cancels_its_call() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def endless() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    server = ToolServer("tools", [endless])
    async with native_chain(ToolMod(server)) as (_, agent):
        connection = await connect(agent, server.server_id)
        async with asyncio.TaskGroup() as tasks:
            params = {"name": "endless"}
            call = tasks.create_task(message(agent, connection, "tools/call", params))
            await started.wait()
            call.cancel()
        async with asyncio.timeout(45):
            await stopped.wait()
        assert await message(agent, connection, "ping") == {}


@pytest.mark.requirement("bridge.slow-tool")
async def test_long_tool_call_delays_nothing() -> None:
    """A held message without a session would delay the updates of every session."""
    released = asyncio.Event()

    async def slow() -> str:
        await released.wait()
        return "done"

    server = ToolServer("tools", [slow])
    async with native_chain(ToolMod(server)) as (editor, agent):
        session = await editor.new_session()
        connection = await connect(agent, server.server_id)
        async with asyncio.TaskGroup() as tasks:
            params = {"name": "slow"}
            call = tasks.create_task(message(agent, connection, "tools/call", params))
            turn = await editor.prompt("continue")
            assert turn.stop_reason == "end_turn"
            agent.say(session, "still here")
            await editor.until(lambda update: update["content"]["text"] == "still here")
            assert not call.done()
            released.set()
        assert call.result()["content"][0]["text"] == '"done"'


@pytest.mark.requirement("bridge.tools-list-text")
async def test_testy_lists_the_tools_of_a_session() -> None:
    async with chain_of("echo", agent="testy") as editor:
        turn = await editor.prompt(render_command(ListTools("echo")))
    assert turn.text == (
        "Available tools:\n  - echo: Return the message unchanged.\n  - add: Add two whole numbers."
    )
