"""Servers at a URL, for an agent that takes servers over ACP only."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
from msgspec import Raw

from peerwire.errors import INTERNAL_ERROR, PeerwireError, RpcError, TransportError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Peer
from peerwire.jsonrpc.values import encode_value
from symposium.bridge import url_connection
from symposium.bridge.url_connection import UrlConnection
from symposium.bridge.url_servers import UrlServers
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Deferred, Drop, Forward, Reply
from symposium.testing import FakeAgent, chain_of


@pytest.mark.requirement("bridge.url-servers")
async def test_only_servers_at_a_url_are_declared_over_acp() -> None:
    agent = FakeAgent()
    program: dict[str, Any] = {"name": "own", "command": "/bin/own", "args": [], "env": []}
    remote: dict[str, Any] = {
        "type": "http",
        "name": "far",
        "url": "https://far.example/mcp",
        "headers": [],
    }
    owned: dict[str, Any] = {"type": "http", "name": "mod", "url": "acp:mod", "headers": []}
    other = {**remote, "url": "https://other.example/mcp", "name": "other"}
    async with chain_of(UrlServers(), agent=agent, bridge="off") as editor:
        await editor.initialize()
        for servers in ([program, remote, owned, other], [other, remote], [program]):
            params: dict[str, Any] = {"cwd": "/", "mcpServers": servers}
            await editor.connection.request("session/new", params)
    declared = [
        each.params["mcpServers"] for each in agent.received.items if each.method == "session/new"
    ]
    far = {"type": "acp", "name": "far", "serverId": declared[0][1]["serverId"]}
    others = {"type": "acp", "name": "other", "serverId": declared[0][3]["serverId"]}

    assert far["serverId"] != others["serverId"]
    assert declared == [[program, far, owned, others], [others, far], [program]]


class Remote:
    """A server at a URL, with the agent's client of it."""

    def __init__(self, server: Mapping[str, Any], agent: Peer) -> None:
        self.name = server["name"]
        self.agent = agent
        self.seen: list[tuple[str, Any]] = []
        self.is_closed = False

    async def request(self, method: str, params: Any = None) -> Any:
        self.seen.append((method, params))
        return {"from": self.name}

    def notify(self, method: str, params: Any = None) -> None:
        self.seen.append((method, params))

    def close(self) -> None:
        self.is_closed = True


class Agent:
    """The next component toward the agent."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any = None) -> Any:
        self.notify(method, params)
        return "answer"

    def notify(self, method: str, params: Any = None) -> None:
        self.seen.append((method, params))


class Lost:
    """A connection whose server is gone, or answers with an error."""

    def __init__(self, error: PeerwireError) -> None:
        self.error = error

    async def request(self, method: str, params: Any = None) -> Any:
        del method, params
        raise self.error

    def notify(self, method: str, params: Any = None) -> None: ...

    def close(self) -> None: ...


@pytest.mark.requirement("bridge.url-servers")
async def test_error_of_a_server_is_passed_on_and_a_lost_server_is_named() -> None:
    refused = RpcError(-32000, {"why": "busy"})
    codes: list[RpcError] = []
    for error in (refused, TransportError("the stream has ended")):
        with pytest.raises(RpcError) as caught:
            await UrlConnection(cast("Connection", Lost(error))).request("tools/list")
        codes.append(caught.value)

    assert codes[0] is refused
    gone = {"reason": "server_gone", "fault": "the stream has ended"}
    assert (codes[1].code, codes[1].data) == (INTERNAL_ERROR, gone)


async def outcome_of(mod: UrlServers, method: str, params: Any, *, is_request: bool = True) -> Any:
    """The outcome of a message, or the reply of a deferred answer."""
    handlers = {each.method: each.handler for each in mod.interceptions()}
    message = ChainMessage(method, Raw(encode_value(params)), is_request=is_request)
    outcome: Any = handlers[method](message)
    return await outcome.work if isinstance(outcome, Deferred) else outcome


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Remote]:
    """Servers that are connected during the test, in order."""
    found: list[Remote] = []

    def connected(server: Mapping[str, Any], agent: Peer, tasks: asyncio.TaskGroup) -> Remote:
        del tasks
        found.append(Remote(server, agent))
        return found[-1]

    monkeypatch.setattr(url_connection, "connected", connected)
    return found


@pytest.mark.requirement("bridge.url-servers")
async def test_each_connection_reaches_its_server_until_it_ends(opened: list[Remote]) -> None:
    mod, agent = UrlServers("http"), Agent()
    mod.agent = agent
    greeted = await outcome_of(mod, "initialize", {})
    greeted.then(Answer(value={"protocolVersion": 1, "agentCapabilities": {}}))
    servers = [{"type": "http", "name": name, "url": f"http://{name}"} for name in ("a", "b")]
    await outcome_of(mod, "session/new", {"mcpServers": servers})
    one, two = {"connectionId": "symposium-url-1"}, {"connectionId": "symposium-url-2"}
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(mod.run())
        await asyncio.sleep(0)
        ids = ("symposium-url-2", "symposium-url-1", "another")
        replies = [await outcome_of(mod, "mcp/connect", {"serverId": each}) for each in ids]
        assert replies == [Reply(one), Reply(two), Forward()]
        b, a = opened
        asked = {**two, "method": "m", "params": {"x": 1}}
        noted = {**one, "method": "n"}
        assert await outcome_of(mod, "mcp/message", asked) == Reply({"from": "a"})
        assert await outcome_of(mod, "mcp/message", noted, is_request=False) == Drop()
        assert (a.seen, b.seen) == ([("m", {"x": 1})], [("n", None)])
        assert await a.agent.request("ask", {"y": 2}) == "answer"
        b.agent.notify("tell")
        assert agent.seen == [
            ("mcp/message", {**two, "method": "ask", "params": {"y": 2}}),
            ("mcp/message", {**one, "method": "tell"}),
        ]
        assert await outcome_of(mod, "mcp/disconnect", two) == Reply({})
        assert await outcome_of(mod, "mcp/disconnect", two) == Forward()
        assert await outcome_of(mod, "mcp/message", asked) == Forward()
        assert (a.is_closed, b.is_closed) == (True, False)
        running.cancel()
    assert b.is_closed
