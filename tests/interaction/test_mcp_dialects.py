"""Owners of MCP servers from every era, behind an agent that knows only today's names."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from peerwire.errors import METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.handlers import Request
from peerwire.mcp.client import open_server
from symposium.testing import FakeAgent, FakeEditor, chain_of

INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {},
}


class Owner:
    """Editor as the owner of a server in one era; it knows no other methods.

    Args:
        methods: the answer for each known method.
    """

    def __init__(self, editor: FakeEditor, methods: Mapping[str, Any]) -> None:
        self.editor = editor
        for method, answer in methods.items():
            editor.answers[method] = lambda request, answer=answer: self._answer(request, answer)

    @property
    def asked(self) -> list[tuple[str, Any]]:
        """Received requests, except refused ones."""
        known = self.editor.answers
        return [
            (each.method, each.params) for each in self.editor.asked.items if each.method in known
        ]

    def _answer(self, request: Request, answer: Any) -> Any:
        if answer is not None:
            return answer
        message: Any = request.params.get("message") or request.params
        if message["method"] == "initialize":
            return INITIALIZED
        if message["method"] == "unknown":
            raise RpcError(METHOD_NOT_FOUND, "unknown")
        return {"answers": message["method"], "params": message.get("params")}


@asynccontextmanager
async def chain(
    methods: Mapping[str, Any], server: Mapping[str, Any]
) -> AsyncGenerator[tuple[Owner, FakeAgent, dict[str, Any]], None]:
    """Run a chain with an owner that declares a server; return the agent's declaration."""
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": {"acp": True}}
    async with chain_of("pass", agent=agent) as editor:
        owner = Owner(editor, methods)
        await editor.new_session(servers=[server])
        yield owner, agent, agent.received.items[-1].params["mcpServers"][0]


async def ask(agent: FakeAgent, asked: str, /, **params: Any) -> Any:
    assert agent.connection is not None
    return await agent.connection.request(asked, params)


def receive(agent: FakeAgent) -> list[tuple[str, Any]]:
    return [(each.method, each.params) for each in agent.received.items if "mcp" in each.method]


SACP_SERVER: dict[str, Any] = {
    "type": "http",
    "name": "tools",
    "url": "acp:1-2",
    "headers": [],
    "vendor": 1,
}


@pytest.mark.requirement(
    "acp.dialect-mcp-sacp", "acp.dialect-mcp-per-declaration", "bridge.tool-context"
)
async def test_owner_of_the_first_era_gets_its_own_names() -> None:
    methods: dict[str, Any] = {
        "_mcp/connect": {"connection_id": "c", "meta": {"b": 2}},
        "_mcp/message": None,
    }
    async with chain(methods, SACP_SERVER) as (owner, agent, declared):
        assert declared == {"type": "acp", "name": "tools", "serverId": "acp:1-2", "vendor": 1}
        opened = await ask(agent, "mcp/connect", serverId="acp:1-2", _meta={"a": 1})
        assert opened == {"connectionId": "c", "_meta": {"b": 2}}
        sent: dict[str, Any] = {"connectionId": "c", "method": "ping", "params": {}}
        assert (await ask(agent, "mcp/message", **sent))["answers"] == "ping"
        assert agent.connection is not None
        note = {"connectionId": "c", "method": "notifications/x", "_meta": {"a": 1}}
        agent.connection.notify("mcp/message", note)
        assert await ask(agent, "mcp/disconnect", connectionId="c") == {}
        notes = await owner.editor.notifications.count(2)
    assert owner.asked == [
        ("_mcp/connect", {"acp_url": "acp:1-2", "meta": {"a": 1}}),
        ("_mcp/message", sent),
    ]
    in_its_names = {"connectionId": "c", "method": "notifications/x", "meta": {"a": 1}}
    assert notes == [
        ("_mcp/message", in_its_names),
        ("_mcp/disconnect", {"connection_id": "c"}),
    ]


@pytest.mark.requirement("acp.dialect-mcp-sacp")
async def test_messages_of_an_owner_of_the_first_era_reach_the_agent_in_todays_names() -> None:
    methods: dict[str, Any] = {"_mcp/connect": {"connection_id": "c"}, "_mcp/message": None}
    async with chain(methods, SACP_SERVER) as (owner, agent, _):
        agent.requests["mcp/message"] = lambda _: {"roots": []}
        agent.requests["mcp/disconnect"] = lambda _: {}
        await ask(agent, "mcp/connect", serverId="acp:1-2")
        connection = owner.editor.connection
        asked = {"connectionId": "c", "method": "roots/list", "meta": {"a": 1}}
        assert await connection.request("_mcp/message", asked) == {"roots": []}
        connection.notify("_mcp/message", {"connectionId": "c", "method": "n"})
        connection.notify("_mcp/disconnect", {"connection_id": "c"})
        await agent.received.until(lambda _: len(receive(agent)) == 3)
    assert receive(agent) == [
        ("mcp/message", {"connectionId": "c", "method": "roots/list", "_meta": {"a": 1}}),
        ("mcp/message", {"connectionId": "c", "method": "n"}),
        ("mcp/disconnect", {"connectionId": "c"}),
    ]


@pytest.mark.requirement("acp.dialect-mcp-sacp")
async def test_unknown_method_of_a_server_is_not_taken_for_an_older_era() -> None:
    methods: dict[str, Any] = {"_mcp/connect": {"connection_id": "c"}, "_mcp/message": None}
    async with chain(methods, SACP_SERVER) as (owner, agent, _):
        await ask(agent, "mcp/connect", serverId="acp:1-2")
        with pytest.raises(RpcError) as caught:
            await ask(agent, "mcp/message", connectionId="c", method="unknown")
        assert caught.value.code == METHOD_NOT_FOUND
        assert (await ask(agent, "mcp/message", connectionId="c", method="ping"))["answers"]
    assert {method for method, _ in owner.asked} == {"_mcp/connect", "_mcp/message"}


@pytest.mark.requirement("acp.dialect-mcp-b1", "acp.dialect-mcp-per-declaration")
async def test_owner_of_todays_era_gets_the_agents_messages_unchanged() -> None:
    server = {"type": "acp", "name": "tools", "serverId": "s"}
    methods: dict[str, Any] = {
        "mcp/connect": {"connectionId": "c"},
        "mcp/message": None,
        "mcp/disconnect": {},
    }
    async with chain(methods, server) as (owner, agent, declared):
        assert declared == server
        await ask(agent, "mcp/connect", serverId="s")
        await ask(agent, "mcp/message", connectionId="c", method="ping", _meta={"a": 1})
        assert await ask(agent, "mcp/disconnect", connectionId="c") == {}
    assert owner.asked == [
        ("mcp/connect", {"serverId": "s"}),
        ("mcp/message", {"connectionId": "c", "method": "ping", "_meta": {"a": 1}}),
        ("mcp/disconnect", {"connectionId": "c"}),
    ]


@pytest.mark.requirement("acp.shape-mcp-message-meta", "bridge.message-wrapper-kept")
async def test_meta_of_a_message_is_beside_its_connection() -> None:
    methods: dict[str, Any] = {"mcp/connect": {"connectionId": "c"}, "mcp/message": None}
    async with chain(methods, {"type": "acp", "name": "t", "serverId": "s"}) as (owner, agent, _):
        await ask(agent, "mcp/message", connectionId="c", method="ping", _meta={"a": 1}, odd=None)
    wrapped = {"connectionId": "c", "method": "ping", "_meta": {"a": 1}, "odd": None}
    assert owner.asked == [("mcp/message", wrapped)]


@pytest.mark.requirement("acp.dialect-mcp-rfd", "acp.dialect-mcp-per-declaration")
async def test_owner_by_the_rfd_is_connected_by_its_member() -> None:
    server = {"type": "acp", "name": "tools", "id": "s", "_meta": {"a": 1}}
    methods: dict[str, Any] = {
        "mcp/connect": {"connectionId": "c"},
        "mcp/message": None,
        "mcp/disconnect": {},
    }
    async with chain(methods, server) as (owner, agent, declared):
        assert declared == {"type": "acp", "name": "tools", "serverId": "s", "_meta": {"a": 1}}
        await ask(agent, "mcp/connect", serverId="s")
        await ask(agent, "mcp/message", connectionId="c", method="ping")
        assert await ask(agent, "mcp/disconnect", connectionId="c") == {}
    assert [method for method, _ in owner.asked] == ["mcp/connect", "mcp/message", "mcp/disconnect"]
    assert owner.asked[0][1] == {"acpId": "s"}


@pytest.mark.requirement("acp.dialect-mcp-p1")
async def test_owner_with_split_names_is_detected_and_gets_them() -> None:
    methods: dict[str, Any] = {"_mcp/connect": {"connection_id": "c"}, "_mcp/request": None}
    async with chain(methods, SACP_SERVER) as (owner, agent, _):
        await ask(agent, "mcp/connect", serverId="acp:1-2")
        initialize = await ask(agent, "mcp/message", connectionId="c", method="initialize")
        assert initialize == INITIALIZED
        assert agent.connection is not None
        agent.connection.notify("mcp/message", {"connectionId": "c", "method": "n"})
        await ask(agent, "mcp/message", connectionId="c", method="ping")
        agent.requests["mcp/message"] = lambda _: {}
        back: dict[str, Any] = {"connection_id": "c", "method": "roots/list"}
        assert await owner.editor.connection.request("_mcp/request", back) == {}
        notes = owner.editor.notifications.items
    assert owner.asked == [
        ("_mcp/connect", {"acp_url": "acp:1-2"}),
        ("_mcp/request", {"connection_id": "c", "method": "initialize"}),
        ("_mcp/request", {"connection_id": "c", "method": "ping"}),
    ]
    assert notes == [("_mcp/notification", {"connection_id": "c", "method": "n"})]
    assert receive(agent) == [("mcp/message", {"connectionId": "c", "method": "roots/list"})]


@pytest.mark.requirement("acp.dialect-mcp-p0")
async def test_owner_without_connections_is_addressed_by_its_url() -> None:
    methods: dict[str, Any] = {"_mcp/client_to_server/request": None}
    async with chain(methods, SACP_SERVER) as (owner, agent, _):
        opened = await ask(agent, "mcp/connect", serverId="acp:1-2")
        connection = opened["connectionId"]
        assert await ask(agent, "mcp/message", connectionId=connection, method="initialize")
        assert agent.connection is not None
        agent.connection.notify("mcp/message", {"connectionId": connection, "method": "n"})
        agent.requests["mcp/message"] = lambda _: {}
        back: dict[str, Any] = {"url": "acp:1-2", "message": {"method": "roots/list", "params": {}}}
        answer = await owner.editor.connection.request("_mcp/server_to_client/request", back)
        assert answer == {}
        assert await ask(agent, "mcp/disconnect", connectionId=connection) == {}
        notes = owner.editor.notifications.items
    assert owner.asked == [
        ("_mcp/client_to_server/request", {"url": "acp:1-2", "method": "initialize"})
    ]
    assert notes == [("_mcp/client_to_server/notification", {"url": "acp:1-2", "method": "n"})]
    came: dict[str, Any] = {"connectionId": "acp:1-2", "method": "roots/list", "params": {}}
    assert receive(agent) == [("mcp/message", came)]


def agent_of_the_first_era() -> FakeAgent:
    agent = FakeAgent()
    symposium = {"version": "1.0", "mcp_acp_transport": True}
    agent.capabilities = {"mcpCapabilities": {"http": True}, "_meta": {"symposium": symposium}}
    return agent


@pytest.mark.requirement("bridge.mode-capability-forms", "acp.dialect-mcp-sacp")
async def test_agent_of_the_first_era_reaches_the_tools_of_a_mod_in_its_own_names() -> None:
    agent = agent_of_the_first_era()
    async with chain_of("echo", agent=agent) as editor:
        await editor.new_session()
        assert editor.agent is not None
        assert editor.agent["agentCapabilities"] == agent.capabilities
        (declared,) = agent.received.items[-1].params["mcpServers"]
        assert declared["url"].startswith("acp:mcp-server:")
        assert (declared["type"], declared["headers"]) == ("http", [])
        opened = await ask(agent, "_mcp/connect", acp_url=declared["url"])
        connection = opened["connection_id"]
        sent: dict[str, Any] = {"connectionId": connection, "method": "tools/list", "meta": {}}
        listed = await ask(agent, "_mcp/message", **sent)
        assert [tool["name"] for tool in listed["tools"]] == ["echo", "add"]
        assert agent.connection is not None
        agent.connection.notify("_mcp/disconnect", {"connection_id": connection})
        assert await ask(agent, "_mcp/connect", acp_url=declared["url"]) != opened
        with pytest.raises(RpcError, match="unknown MCP connection"):
            await ask(agent, "_mcp/message", connectionId=connection, method="ping")


@pytest.mark.requirement("bridge.mode-capability-forms", "acp.dialect-mcp-sacp")
async def test_messages_of_any_owner_reach_an_agent_of_the_first_era_in_its_names() -> None:
    agent = agent_of_the_first_era()
    agent.requests["_mcp/message"] = lambda _: {"roots": []}
    async with chain_of("pass", agent=agent) as editor:
        Owner(editor, {"mcp/connect": {"connectionId": "c"}, "mcp/message": None})
        await editor.new_session(servers=[{"type": "acp", "name": "t", "serverId": "s"}])
        assert await ask(agent, "_mcp/connect", acp_url="acp:s") == {"connection_id": "c"}
        wrapped = {"connectionId": "c", "method": "roots/list", "_meta": {"a": 1}}
        assert await editor.connection.request("mcp/message", wrapped) == {"roots": []}
        gone = {"connectionId": "c"}
        assert await editor.connection.request("mcp/disconnect", gone) == {}
        await agent.received.until(lambda _: len(receive(agent)) == 2)
    assert receive(agent) == [
        ("_mcp/message", {"connectionId": "c", "method": "roots/list", "meta": {"a": 1}}),
        ("_mcp/disconnect", {"connection_id": "c"}),
    ]


@pytest.mark.requirement("bridge.mode-forced")
async def test_forced_bridge_serves_an_agent_of_the_first_era_as_any_other() -> None:
    agent = agent_of_the_first_era()
    async with chain_of("echo", agent=agent, bridge="http") as editor:
        await editor.new_session()
        (declared,) = agent.received.items[-1].params["mcpServers"]
        async with open_server(declared) as server:
            assert len(await server.list_tools()) == 2


@pytest.mark.requirement("acp.dialect-mcp-sacp", "acp.dialect-mcp-rfd", "acp.dialect-mcp-b1")
@pytest.mark.parametrize(
    ("server", "connect", "answer"),
    [
        (SACP_SERVER, "_mcp/connect", {"connection_id": "c"}),
        ({"type": "acp", "name": "t", "id": "s"}, "mcp/connect", {"connectionId": "c"}),
        ({"type": "acp", "name": "t", "serverId": "s"}, "mcp/connect", {"connectionId": "c"}),
    ],
)
async def test_owners_of_any_era_serve_an_agent_that_takes_http_only(
    server: dict[str, Any], connect: str, answer: Any
) -> None:
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": {"http": True}}
    async with chain_of("pass", agent=agent) as editor:
        message = connect.replace("connect", "message")
        Owner(editor, {connect: answer, message: None, "mcp/disconnect": {}})
        await editor.new_session(servers=[server])
        async with open_server(agent.received.items[-1].params["mcpServers"][0]) as opened:
            assert opened.initialize_result == INITIALIZED
            assert (await opened.wire.request("ping", {"a": 1}))["params"] == {"a": 1}
