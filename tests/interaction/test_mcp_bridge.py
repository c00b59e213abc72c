"""Bridge in a chain: declarations for the agent, messages of the chain, and cleanup."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any

import pytest
from tests.support.chain_harness import chain_harness, mods

from peerwire.errors import INVALID_PARAMS, PeerwireError, RpcError
from peerwire.jsonrpc.handlers import Request
from peerwire.jsonrpc.transport import Transport
from peerwire.mcp.client import open_server
from peerwire.mcp.session import McpClientSession
from symposium.bridge.bridge import Bridge
from symposium.chain.blueprint import Blueprint, InProcess, Served
from symposium.chain.capabilities import Mode
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer
from symposium.testing import FakeAgent, FakeEditor, ModLike, chain_of

SETUP = ["session/new", "session/load", "session/resume", "session/fork"]


def echo(message: str) -> str:
    """Echo the message."""
    return f"Echo: {message}"


def tools() -> ToolMod:
    return ToolMod(ToolServer("tools", [echo]))


def agent_with(version: int = 1, **mcp: Any) -> FakeAgent:
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": mcp}
    for method in SETUP[1:]:
        agent.requests[method] = lambda _: {}
    for method in ("session/close", "session/delete", "_vendor/setup"):
        agent.requests[method] = lambda _: {}
    if version != 1:
        answer = {"protocolVersion": version, "capabilities": {"session": {"mcp": mcp}}, "x": [1]}
        agent.requests["initialize"] = lambda _: answer
    return agent


@asynccontextmanager
async def bridged(
    *mods: ModLike, agent: FakeAgent, mode: Mode = "auto"
) -> AsyncGenerator[FakeEditor, None]:
    async with chain_of(*mods, agent=agent, bridge=mode) as editor:
        yield editor


async def set_up(editor: FakeEditor, agent: FakeAgent, method: str, **params: Any) -> Any:
    """Return the servers that the agent receives in a setup request of this session."""
    sent: dict[str, Any] = {"sessionId": "s", "cwd": "/", "mcpServers": [], **params}
    await editor.connection.request(method, sent)
    return agent.received.items[-1].params["mcpServers"]


async def is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


def port_of(declaration: dict[str, Any]) -> int:
    if "url" in declaration:
        return int(declaration["url"].split(":")[2].partition("/")[0])
    return int(declaration["args"][-1])


@pytest.mark.requirement("bridge.mode-native", "bridge.mode-last-hop")
async def test_native_agent_gets_the_declaration_unchanged() -> None:
    agent = agent_with(acp=True, http=True)
    async with bridged(tools(), "pass", agent=agent) as editor:
        answer = await editor.initialize()
        assert answer["agentCapabilities"] == agent.capabilities
        (declared,) = await set_up(editor, agent, "session/new")
    assert declared["type"] == "acp"
    assert "mcp/connect" not in [each.method for each in editor.asked.items]


@pytest.mark.requirement("bridge.mode-http", "bridge.advertises-acp", "bridge.rewrite-http-form")
async def test_agent_with_http_gets_a_url_and_the_chain_sees_acp() -> None:
    agent = agent_with(http=True, sse=True)
    async with bridged(tools(), agent=agent) as editor:
        answer = await editor.initialize()
        mcp = answer["agentCapabilities"]["mcpCapabilities"]
        assert mcp == {"http": True, "sse": True, "acp": True}
        (declared,) = await set_up(editor, agent, "session/new")
    assert declared["type"] == "http"
    assert declared["name"] == "tools"
    assert declared["url"].startswith("http://127.0.0.1:")
    (header,) = declared["headers"]
    assert header["name"] == "Authorization"
    assert header["value"].startswith("Bearer ")
    assert len(header["value"]) > 40


@pytest.mark.requirement("bridge.mode-stdio", "bridge.rewrite-stdio-form")
async def test_agent_with_neither_gets_a_program() -> None:
    agent = agent_with()
    async with bridged(tools(), agent=agent) as editor:
        await editor.initialize()
        (declared,) = await set_up(editor, agent, "session/new")
    assert sorted(declared) == ["args", "command", "env", "name"]
    assert [entry["name"] for entry in declared["env"]] == ["SYMPOSIUM_MCP_TOKEN"]


@pytest.mark.requirement("bridge.advertises-acp-v2", "bridge.v2-unavailable")
@pytest.mark.requirement("bridge.rewrite-not-load-in-v2")
async def test_version_2_has_its_own_forms() -> None:
    agent = agent_with(2)
    async with bridged(tools(), agent=agent) as editor:
        answer = await editor.initialize(version=2)
        assert answer["capabilities"]["session"]["mcp"] == {"acp": {}}
        assert answer["x"] == [1]
        (declared,) = await set_up(editor, agent, "session/new")
        assert declared["type"] == "stdio"
        (untouched,) = await set_up(editor, agent, "session/load")
        assert untouched["type"] == "acp"


@pytest.mark.requirement("bridge.mode-forced")
async def test_mode_of_a_run_overrides_the_agents_capabilities() -> None:
    modes: list[tuple[Mode, str]] = [("http", "url"), ("stdio", "command")]
    for mode, member in modes:
        agent = agent_with(acp=True, http=True)
        async with bridged(tools(), agent=agent, mode=mode) as editor:
            await editor.initialize()
            (declared,) = await set_up(editor, agent, "session/new")
        assert member in declared


@pytest.mark.requirement("bridge.mode-off")
async def test_bridge_that_is_off_changes_nothing() -> None:
    agent = agent_with(http=True)
    async with bridged(tools(), agent=agent, mode="off") as editor:
        answer = await editor.initialize()
        assert answer["agentCapabilities"] == agent.capabilities
        (declared,) = await set_up(editor, agent, "session/new")
    assert declared["type"] == "acp"


@pytest.mark.requirement(
    "bridge.rewrite-new",
    "bridge.rewrite-load",
    "bridge.rewrite-resume",
    "bridge.rewrite-fork",
    "bridge.rewrite-same-endpoint",
)
async def test_server_has_one_url_in_every_setup_request() -> None:
    agent = agent_with(http=True)
    async with bridged(tools(), agent=agent) as editor:
        await editor.initialize()
        declared = [(await set_up(editor, agent, method))[0] for method in SETUP]
    assert len({entry["url"] for entry in declared}) == 1
    assert {entry["type"] for entry in declared} == {"http"}


@pytest.mark.requirement("bridge.rewrite-only-ours", "bridge.rewrite-keeps-meta")
async def test_other_servers_and_members_pass_unchanged() -> None:
    agent = agent_with(http=True)
    others: list[Any] = [
        {"name": "files", "command": "x", "args": [], "env": []},
        {"type": "http", "name": "web", "url": "https://a.invalid", "headers": [{}]},
    ]
    own = {"type": "acp", "name": "editor's", "serverId": "e", "_meta": {"a": 1}, "vendor": None}
    async with bridged("pass", agent=agent) as editor:
        await editor.initialize()
        declared = await set_up(editor, agent, "session/new", mcpServers=[*others, own], more=1)
        assert agent.received.items[-1].params["more"] == 1
    assert declared[:2] == others
    assert declared[2]["_meta"] == {"a": 1}
    assert declared[2]["name"] == "editor's"
    assert declared[2]["vendor"] is None


@pytest.mark.requirement("bridge.rewrite-headers-must-be-empty")
async def test_acp_url_with_headers_is_refused_and_the_chain_continues() -> None:
    agent = agent_with(http=True)
    server = {"type": "http", "name": "x", "url": "acp:1", "headers": [{"name": "a", "value": "b"}]}
    async with bridged("pass", agent=agent) as editor:
        await editor.initialize()
        with pytest.raises(RpcError, match="cannot have headers") as caught:
            await set_up(editor, agent, "session/new", mcpServers=[server])
        assert caught.value.code == INVALID_PARAMS
        assert await editor.new_session()


@pytest.mark.requirement("bridge.rewrite-validates")
async def test_setup_request_without_an_array_is_left_to_the_agent() -> None:
    agent = agent_with(http=True)
    async with bridged("pass", agent=agent) as editor:
        await editor.initialize()
        assert await set_up(editor, agent, "session/new", mcpServers={"a": 1}) == {"a": 1}


@pytest.mark.requirement("bridge.rewrite-unknown-methods")
@pytest.mark.parametrize("is_configured", [False, True])
async def test_unknown_methods_are_inspected_only_when_configured(*, is_configured: bool) -> None:
    agent = agent_with(http=True)
    bridge = InProcess("bridge", Bridge(rewrites_unknown=is_configured), is_hidden=True)
    ours = {"type": "acp", "name": "x", "serverId": "e"}
    async with chain_of(bridge, agent=agent, bridge="off") as editor:
        await editor.initialize()
        (declared,) = await set_up(editor, agent, "_vendor/setup", mcpServers=[ours])
        assert (declared["type"] == "http") is is_configured
        (known,) = await set_up(editor, agent, "session/new", mcpServers=[ours])
        assert known["type"] == "http"


@pytest.mark.requirement("bridge.rewrite-integration-http", "bridge.rewrite-integration-stdio")
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_session_with_a_bridged_server_is_set_up(mode: Mode) -> None:
    async with chain_of("echo", agent="testy", bridge=mode) as editor:
        assert await editor.initialize()
        assert await editor.new_session()


@pytest.mark.requirement("bridge.life-session-end")
@pytest.mark.parametrize("end", ["session/close", "session/delete"])
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_port_closes_with_the_last_session_that_uses_it(mode: Mode, end: str) -> None:
    agent = agent_with()
    async with bridged(tools(), agent=agent, mode=mode) as editor:
        await editor.initialize()
        first, second = await editor.new_session(), await editor.new_session()
        port = port_of(agent.received.items[-1].params["mcpServers"][0])
        await editor.connection.request(end, {"sessionId": first})
        assert await is_open(port)
        await editor.connection.request(end, {"sessionId": second})
        assert not await is_open(port)
        await editor.new_session()
        (declared,) = agent.received.items[-1].params["mcpServers"]
        assert await is_open(port_of(declared))


@pytest.mark.requirement("bridge.life-session-end")
async def test_refused_session_leaves_no_port_and_a_running_one_keeps_it() -> None:
    agent = agent_with(http=True)

    def refuse(_: Request) -> Any:
        raise RpcError(INVALID_PARAMS, "no")

    agent.requests["session/new"] = refuse
    async with bridged(tools(), agent=agent) as editor:
        await editor.initialize()
        with pytest.raises(RpcError):
            await editor.new_session()
        assert not await is_open(port_of(agent.received.items[-1].params["mcpServers"][0]))
        (declared,) = await set_up(editor, agent, "session/load")
        with pytest.raises(RpcError):
            await editor.new_session()
        assert await is_open(port_of(declared))


@pytest.mark.requirement("bridge.life-nothing-left")
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_no_port_is_left_when_the_chain_has_ended(mode: Mode) -> None:
    agent = agent_with()
    async with bridged(tools(), agent=agent, mode=mode) as editor:
        await editor.initialize()
        (declared,) = await set_up(editor, agent, "session/new")
        async with open_server(declared) as server:
            assert (await server.call_tool("echo", {"message": "x"})).text == '"Echo: x"'
            port = port_of(declared)
            assert await is_open(port)
    assert not await is_open(port)


@pytest.mark.requirement("bridge.tool-call-through-bridge")
@pytest.mark.parametrize("mode", ["auto", "http", "stdio"])
async def test_prompt_makes_the_agent_call_a_mods_tool(mode: Mode) -> None:
    async with chain_of("echo", agent="testy", bridge=mode) as editor:
        arguments = {"message": "Hello from the test!"}
        call = {"command": "call_tool", "server": "echo", "tool": "echo", "params": arguments}
        turn = await editor.prompt(json.dumps(call))
    assert "Echo: Hello from the test!" in turn.text
    assert (len(turn.updates), turn.stop_reason) == (1, "end_turn")


@pytest.mark.requirement("bridge.tool-call-through-bridge", "bridge.http-null-ids-serialized")
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_concurrent_calls_of_many_clients_get_their_own_results(mode: Mode) -> None:
    chance = random.Random(3)  # noqa: S311 - the same in each run
    gates = [asyncio.Event() for _ in range(60)]

    async def wait_for(number: int) -> int:
        await gates[number].wait()
        return number

    agent = agent_with()
    mod = ToolMod(ToolServer("tools", [wait_for]))
    answers: dict[int, str] = {}

    async def call(server: McpClientSession, number: int) -> None:
        answers[number] = (await server.call_tool("wait_for", {"number": number})).text

    async def client(declared: dict[str, Any], numbers: range) -> None:
        async with open_server(declared) as server, asyncio.TaskGroup() as tasks:
            for number in numbers:
                tasks.create_task(call(server, number))

    async with bridged(mod, "pass", agent=agent, mode=mode) as editor:
        await editor.initialize()
        (declared,) = await set_up(editor, agent, "session/new")
        async with asyncio.TaskGroup() as tasks:
            for first in range(6):
                tasks.create_task(client(declared, range(first, 60, 6)))
            for gate in chance.sample(gates, len(gates)):
                gate.set()
    assert answers == {number: str(number) for number in range(60)}


@pytest.mark.requirement("bridge.mode-last-hop", "bridge.connect-routed")
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_tools_of_a_mod_in_an_inner_conductor_reach_the_outer_agent(mode: Mode) -> None:
    async def serve(transport: Transport) -> None:
        inner = Blueprint([InProcess("tools", tools())], None)
        await Conductor(transport, lambda _: inner, Settings(is_proxy=True)).run()

    agent = agent_with()
    async with bridged("pass", Served("inner", serve), agent=agent, mode=mode) as editor:
        await editor.initialize()
        (declared,) = await set_up(editor, agent, "session/new")
        async with open_server(declared) as server:
            assert (await server.call_tool("echo", {"message": "x"})).text == '"Echo: x"'


@pytest.mark.requirement("bridge.unknown-server")
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_declared_server_without_an_owner_is_an_error_for_the_client(mode: Mode) -> None:
    agent = agent_with()
    ours = {"type": "acp", "name": "x", "serverId": "unknown"}
    async with bridged("pass", agent=agent, mode=mode) as editor:
        await editor.initialize()
        (declared,) = await set_up(editor, agent, "session/new", mcpServers=[ours])
        with pytest.raises(PeerwireError, match="unknown"):
            async with open_server(declared):
                pass


@pytest.mark.requirement("bridge.rewrite-new")
async def test_client_that_connects_before_the_bridge_waits_for_it() -> None:
    """Mods start to run a moment after the response to `initialize`."""
    bridge = Bridge("http")
    set_up_handler = next(
        each.handler for each in bridge.interceptions() if each.method == "session/new"
    )
    initialized = next(
        each.handler for each in bridge.interceptions() if each.method == "initialize"
    )
    initialize = initialized(ChainMessage("initialize", b"{}", is_request=True))
    assert isinstance(initialize, Forward)
    assert initialize.then is not None
    initialize.then(Answer(b'{"protocolVersion":1}'))
    body = b'{"mcpServers":[{"type":"acp","name":"x","serverId":"s"}]}'
    outcome = set_up_handler(ChainMessage("session/new", body, is_request=True))
    assert isawaitable(outcome)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bridge.run())
        forwarded = await outcome
        running.cancel()
    assert isinstance(forwarded, Forward)
    assert forwarded.params["mcpServers"][0]["type"] == "http"


@pytest.mark.requirement("bridge.life-unknown-connection-survives", "bridge.unknown-connection")
async def test_owner_that_sends_on_a_closed_connection_gets_an_error() -> None:
    agent = agent_with(http=True)
    async with bridged("pass", agent=agent) as editor:
        await editor.initialize()
        editor.connection.notify("mcp/message", {"connectionId": "c", "method": "x"})
        editor.connection.notify("mcp/message", [])
        editor.connection.notify("mcp/disconnect", None)
        for method in ("mcp/message", "mcp/disconnect"):
            with pytest.raises(RpcError) as caught:
                await editor.connection.request(method, {"connectionId": "c", "method": "x"})
            assert caught.value.code == INVALID_PARAMS
            assert caught.value.data == {"reason": "unknown MCP connection", "connectionId": "c"}
        with pytest.raises(RpcError):
            await editor.connection.request("mcp/message", {"method": "x"})
        assert await editor.new_session()


@pytest.mark.requirement("bridge.unknown-connection")
async def test_disconnect_without_a_connection_is_an_error_for_its_sender() -> None:
    async with chain_harness(*mods(Bridge())) as it:
        await it.open()
        it.client.write({"jsonrpc": "2.0", "id": 1, "method": "mcp/disconnect", "params": ["x"]})
        assert (await it.client.read())["error"]["code"] == -32602
