"""The parts of the bridge that only compute: the agent's wishes, declarations, who uses what."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localio.loopback import Connections
from symposium.bridge.bridge import EndpointUsers
from symposium.bridge.dialects import rewritten
from symposium.bridge.http_endpoint import http_declaration
from symposium.bridge.stdio_endpoint import stdio_declaration
from symposium.chain.capabilities import (
    McpDelivery,
    advertising,
    choose_way,
    has_capability,
    speaks_first_era,
    with_capability,
    without_capability,
)


def v1(**mcp: Any) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": mcp}}


def v2(**mcp: Any) -> dict[str, Any]:
    return {"protocolVersion": 2, "capabilities": {"session": {"mcp": mcp}}, "info": {}}


FIRST_ERA = {
    "protocolVersion": 1,
    "agentCapabilities": {"_meta": {"symposium": {"mcp_acp_transport": True}}},
}


@pytest.mark.requirement(
    "bridge.mode-native",
    "bridge.mode-http",
    "bridge.mode-stdio",
    "bridge.mode-capability-forms",
    "bridge.version-selected",
)
@pytest.mark.parametrize(
    ("answer", "way"),
    [
        (v1(acp=True, http=True), McpDelivery.NATIVE),
        (v1(http=True), McpDelivery.HTTP),
        (v1(http=False, sse=True), McpDelivery.STDIO),
        (v1(acp=False, http=True), McpDelivery.HTTP),
        (v1(acp=None), McpDelivery.STDIO),
        ({"protocolVersion": 1}, McpDelivery.STDIO),
        (v2(acp={}), McpDelivery.NATIVE),
        (v2(http={}), McpDelivery.HTTP),
        (v2(stdio={}), McpDelivery.STDIO),
        (FIRST_ERA, McpDelivery.NATIVE),
        # A version that is not known is not taken for 2.
        (v2(acp={}) | {"protocolVersion": 3}, McpDelivery.STDIO),
        (None, McpDelivery.STDIO),
        ([], McpDelivery.STDIO),
        ({"agentCapabilities": "many"}, McpDelivery.STDIO),
    ],
)
def test_way_depends_on_the_capabilities_of_the_agent(answer: Any, way: McpDelivery) -> None:
    assert choose_way("auto", answer) is way


@pytest.mark.requirement("bridge.mode-forced", "bridge.mode-off")
def test_forced_mode_overrides_capabilities() -> None:
    assert choose_way("http", v1(acp=True)) is McpDelivery.HTTP
    assert choose_way("stdio", v1(acp=True, http=True)) is McpDelivery.STDIO
    assert choose_way("off", v1(http=True)) is McpDelivery.NATIVE


@pytest.mark.requirement("bridge.mode-capability-forms")
def test_agent_of_the_first_era_is_recognized_by_its_meta_alone() -> None:
    assert speaks_first_era(FIRST_ERA)
    assert not speaks_first_era(v1(acp=True))


@pytest.mark.requirement("bridge.advertises-acp")
def test_answer_of_version_1_gains_one_member() -> None:
    answer = v1(http=True, odd=[1]) | {"agentInfo": {"name": "a"}, "unknown": None}
    advertised = advertising(answer)
    assert advertised["agentCapabilities"]["mcpCapabilities"].pop("acp") is True
    assert advertised == answer


@pytest.mark.requirement("bridge.advertises-acp-v2")
def test_answer_of_version_2_gains_one_member() -> None:
    answer = v2(http={}, odd=[1]) | {"unknown": None}
    advertised = advertising(answer)
    assert advertised["capabilities"]["session"]["mcp"].pop("acp") == {}
    assert advertised == answer


def unused(server_id: str, declaration: Mapping[str, Any]) -> dict[str, Any]:
    raise AssertionError([server_id, declaration])


OURS = {"type": "acp", "name": "tools", "serverId": "s", "_meta": {"a": 1}, "vendor": [1, None]}


@pytest.mark.requirement("bridge.rewrite-http-form", "bridge.rewrite-keeps-meta")
def test_http_declaration_keeps_name_meta_and_unknown_members() -> None:
    assert http_declaration(OURS, "http://127.0.0.1:1/mcp/x", "secret") == {
        "type": "http",
        "name": "tools",
        "url": "http://127.0.0.1:1/mcp/x",
        "headers": [{"name": "Authorization", "value": "Bearer secret"}],
        "_meta": {"a": 1},
        "vendor": [1, None],
    }


@pytest.mark.requirement(
    "bridge.rewrite-stdio-form", "bridge.rewrite-keeps-meta", "bridge.v2-unavailable"
)
def test_stdio_declaration_has_a_type_only_in_version_2_and_the_token_in_env() -> None:
    declared = stdio_declaration(OURS, 4711, "secret", is_typed=False)
    assert "type" not in declared
    assert declared["args"][-1] == "4711"
    assert declared["env"] == [{"name": "SYMPOSIUM_MCP_TOKEN", "value": "secret"}]
    assert "secret" not in str(declared["args"]) + declared["command"]
    assert (declared["_meta"], declared["vendor"]) == ({"a": 1}, [1, None])
    typed = stdio_declaration(OURS, 4711, "secret", is_typed=True)
    assert typed == {"type": "stdio", **declared}


@pytest.mark.requirement("bridge.rewrite-only-ours")
def test_only_declarations_of_mods_are_rewritten_in_their_order() -> None:
    others: list[Any] = [
        {"name": "files", "command": "x", "args": [], "env": []},
        {"type": "http", "name": "web", "url": "https://a.invalid", "headers": []},
        {"type": "sse", "name": "old", "url": "https://b.invalid", "headers": []},
        {"type": "acp", "name": "no id"},
        "not even an object",
    ]
    declared = [*others[:2], OURS, *others[2:]]
    result = rewritten(declared, lambda server_id, _: {"rewritten": server_id})
    assert result == [*others[:2], {"rewritten": "s"}, *others[2:]]
    assert rewritten(others, unused) is None


@pytest.mark.requirement("bridge.rewrite-validates")
@pytest.mark.parametrize("declared", [None, {}, "servers", 7, {"0": OURS}])
def test_declarations_that_are_not_an_array_are_unchanged(declared: Any) -> None:
    assert rewritten(declared, unused) is None


# -- who uses a server

SERVERS = st.frozensets(st.sampled_from("abc"))


@pytest.mark.requirement("bridge.life-session-end")
@given(
    st.lists(st.tuples(st.sampled_from(["open", "fail", "end"]), st.sampled_from("12"), SERVERS))
)
def test_server_is_unused_only_when_no_session_uses_it(
    steps: list[tuple[str, str, frozenset[str]]],
) -> None:
    """Against the plainest model: what is open is what sessions have."""
    uses, sessions, is_open = EndpointUsers(), dict[str, frozenset[str]](), set[str]()
    for step, session, servers in steps:
        match step:
            case "end":
                sessions.pop(session, None)
                unused = uses.ended(session)
            case _:
                uses.begin(servers)
                is_open |= servers
                if step == "open":
                    sessions[session] = servers
                    unused = uses.opened(session, servers)
                else:
                    unused = uses.failed(servers)
        is_open -= set(unused)
        assert is_open == set[str]().union(*sessions.values())


@pytest.mark.requirement("bridge.life-session-end")
def test_server_for_a_pending_session_stays() -> None:
    uses = EndpointUsers()
    uses.begin({"a"})
    uses.opened("1", {"a"})
    uses.begin({"a"})
    assert uses.ended("1") == []
    assert uses.failed({"a"}) == ["a"]


# -- `_meta.symposium`


@pytest.mark.requirement(
    "acp.capability-add-request", "acp.capability-add-response", "acp.capability-remove"
)
def test_capability_is_added_and_removed_without_other_changes() -> None:
    before = {"fs": {"readTextFile": True}, "_meta": {"other": 1, "symposium": {"bash": True}}}
    added = with_capability(before, "mcp_acp_transport")
    assert added == {
        "fs": {"readTextFile": True},
        "_meta": {
            "other": 1,
            "symposium": {"bash": True, "version": "1.0", "mcp_acp_transport": True},
        },
    }
    assert has_capability(added, "mcp_acp_transport")
    removed = without_capability(added, "mcp_acp_transport")
    assert not has_capability(removed, "mcp_acp_transport")
    assert has_capability(removed, "bash")
    assert without_capability(before, "unknown") == before
    assert with_capability(None, "x", value={"operations": []}) == {
        "_meta": {"symposium": {"version": "1.0", "x": {"operations": []}}}
    }


@pytest.mark.requirement("acp.capability-false-null")
@pytest.mark.parametrize(
    ("value", "is_there"),
    [(True, True), ({}, True), (0, True), ("", True), (False, False), (None, False)],
)
def test_capability_is_absent_if_false_or_null(value: Any, *, is_there: bool) -> None:
    assert has_capability({"_meta": {"symposium": {"x": value}}}, "x") is is_there


@pytest.mark.requirement("acp.capability-not-an-object")
@pytest.mark.parametrize(
    "capabilities", [None, [], {"_meta": None}, {"_meta": {"symposium": "x"}}, {}]
)
def test_capabilities_are_empty_when_not_an_object(capabilities: Any) -> None:
    assert not has_capability(capabilities, "x")


async def waiting() -> None:
    """Serve until it is canceled."""
    await asyncio.Event().wait()


@pytest.mark.requirement("bridge.connections-bounded")
async def test_connections_without_the_token_have_their_own_limit() -> None:
    connections = Connections(max_connections=10, max_unproven=2)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(waiting()) for _ in range(3)]
        for task in tasks[:2]:
            assert connections.has_room()
            connections.add(task)
        assert connections.has_room()
        connections.add(tasks[2])
        assert [task.cancelling() for task in tasks] == [1, 0, 0]
        connections.cancel()


@pytest.mark.requirement("bridge.connections-bounded")
async def test_connections_with_the_token_are_never_closed_for_others() -> None:
    connections = Connections(max_connections=2, max_unproven=2)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(waiting()) for _ in range(2)]
        for task in tasks:
            connections.add(task)
            connections.prove(task)
        assert not connections.has_room()
        assert [task.cancelling() for task in tasks] == [0, 0]
        connections.cancel()


@pytest.mark.requirement("bridge.connections-bounded")
async def test_full_endpoint_closes_a_connection_without_the_token_for_a_new_one() -> None:
    connections = Connections(max_connections=2, max_unproven=2)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(waiting()) for _ in range(2)]
        for task in tasks:
            connections.add(task)
        connections.prove(tasks[0])
        assert connections.has_room()
        assert [task.cancelling() for task in tasks] == [0, 1]
        connections.cancel()
