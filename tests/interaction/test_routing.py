"""Routing table, row by row, checked in bytes (acp-host §2.1)."""

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    Peer,
    PlayedComponent,
    chain_harness,
    inner,
    mods,
    proxy_harness,
)

from peerwire.acp.names import Dialect
from symposium.mods.arrow import Arrow

UPDATE = {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk"}}


async def initialize_proxy(proxy: Peer) -> None:
    """Read `_proxy/initialize` and forward it; the response is the next line."""
    request = await proxy.read()
    assert request["method"] == "_proxy/initialize"
    params = {"method": "initialize", "params": request["params"]}
    proxy.ask("initialize", "_proxy/successor", params)


@pytest.mark.requirement("conductor.route-client", "conductor.route-agent")
async def test_client_and_agent_exchange_plain_messages_without_proxies() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.tell("session/cancel", {"sessionId": "s"})
        assert (await agent.read())["method"] == "session/cancel"
        agent.tell("session/update", UPDATE)
        assert (await it.client.read())["params"] == UPDATE


@pytest.mark.requirement(
    "conductor.route-worked-example",
    "conductor.route-proxy-envelope",
    "conductor.route-proxy-plain",
    "acp.emit-canonical",
    "acp.shape-response-never-wrapped",
    "acp.shape-envelope-request",
    "acp.shape-direction-by-peer",
    "acp.shape-proxy-initialize",
    "acp.role-agent-sees-no-envelope",
)
async def test_example_of_the_specification_happens_message_for_message() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
        )
        proxy = await stand.peer()
        assert await proxy.line() == (
            b'{"jsonrpc":"2.0","id":1,"method":"_proxy/initialize","params":{"protocolVersion":1}}'
        )
        proxy.ask(6, "_proxy/successor", {"method": "initialize", "params": VERSION_ONE})
        agent = await it.agent()
        initialize = await agent.read()
        assert initialize["method"] == "initialize"
        agent.answer(initialize, {"protocolVersion": 1, "agentCapabilities": {}})
        assert await proxy.read() == {
            "jsonrpc": "2.0",
            "id": 6,
            "result": {"protocolVersion": 1, "agentCapabilities": {}},
        }
        proxy.write({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1, "x": 1}})
        assert (await it.client.read())["result"] == {"protocolVersion": 1, "x": 1}

        prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "Hello"}]}
        it.client.ask(1, "session/prompt", prompt)
        asked = await proxy.read()
        assert (asked["method"], asked["params"]) == ("session/prompt", prompt)
        proxy.ask(7, "_proxy/successor", {"method": "session/prompt", "params": prompt})
        reached = await agent.read()
        assert (reached["method"], reached["params"]) == ("session/prompt", prompt)

        agent.tell("session/update", UPDATE)
        agent.answer(reached, {"stopReason": "end_turn"})
        wrapped, answer = await proxy.reads(2)
        assert wrapped == {
            "jsonrpc": "2.0",
            "method": "_proxy/successor",
            "params": {"method": "session/update", "params": UPDATE},
        }
        assert answer == {"jsonrpc": "2.0", "id": 7, "result": {"stopReason": "end_turn"}}
        proxy.tell("session/update", {**UPDATE, "mark": ">"})
        proxy.answer(asked, {"stopReason": "end_turn"})
        update, done = await it.client.reads(2)
        assert update["params"]["mark"] == ">"
        assert done == {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}


@pytest.mark.requirement(
    "conductor.route-proxy-plain", "conductor.route-proxy-envelope", "conductor.route-agent"
)
async def test_message_between_two_proxies_is_wrapped_backward_and_plain_forward() -> None:
    first, second = PlayedComponent("first"), PlayedComponent("second")
    async with chain_harness(first.component, second.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        upper, lower = await first.peer(), await second.peer()
        await initialize_proxy(upper)
        await initialize_proxy(lower)
        agent = await it.agent()
        agent.tell("from/agent", {"n": 1})
        assert await lower.read() == {
            "jsonrpc": "2.0",
            "method": "_proxy/successor",
            "params": {"method": "from/agent", "params": {"n": 1}},
        }
        lower.tell("from/second", {"n": 2})
        assert await upper.read() == {
            "jsonrpc": "2.0",
            "method": "_proxy/successor",
            "params": {"method": "from/second", "params": {"n": 2}},
        }
        upper.tell("from/first", {"n": 3})
        assert await it.client.read() == {
            "jsonrpc": "2.0",
            "method": "from/first",
            "params": {"n": 3},
        }


@pytest.mark.requirement(
    "conductor.route-proxy-mode-plain",
    "conductor.route-proxy-mode-in",
    "conductor.route-proxy-mode-out",
)
async def test_outer_conductor_is_client_and_successor_in_proxy_mode() -> None:
    stand = PlayedComponent("only")
    async with proxy_harness(stand.component) as (outer, _):
        outer.ask("g", "_proxy/initialize", VERSION_ONE)
        proxy = await stand.peer()
        await initialize_proxy(proxy)
        initialize = await outer.read()
        assert initialize["method"] == "_proxy/successor"
        assert initialize["params"] == {"method": "initialize", "params": VERSION_ONE}
        outer.answer(initialize, VERSION_ONE)
        answer = await proxy.read()
        proxy.write({"jsonrpc": "2.0", "id": 1, "result": answer["result"]})
        assert (await outer.read())["id"] == "g"

        outer.tell("plain", {"n": 1})
        assert (await proxy.read())["method"] == "plain"
        outer.tell("_proxy/successor", {"method": "wrapped", "params": {"n": 2}})
        assert (await proxy.read())["params"] == {"method": "wrapped", "params": {"n": 2}}
        proxy.ask("mine", "_proxy/successor", {"method": "on", "params": {"n": 3}})
        on = await outer.read()
        assert on["params"] == {"method": "on", "params": {"n": 3}}
        assert on["id"] != "mine"
        outer.answer(on, {"n": 4})
        assert await proxy.read() == {"jsonrpc": "2.0", "id": "mine", "result": {"n": 4}}


@pytest.mark.requirement("conductor.chain-proxy-mode-identity", "acp.shape-envelope-meta")
async def test_proxy_mode_conductor_without_proxies_is_the_identity() -> None:
    async with proxy_harness() as (outer, _):
        outer.ask("g", "_proxy/initialize", VERSION_ONE)
        initialize = await outer.read()
        outer.answer(initialize, VERSION_ONE)
        assert (await outer.read())["result"] == VERSION_ONE
        outer.write(b'{"jsonrpc":"2.0","method":"a/b","params":{"x":1.0,"_meta":{"k":null}}}')
        assert await outer.line() == (
            b'{"jsonrpc":"2.0","method":"_proxy/successor",'
            b'"params":{"method":"a/b","params":{"x":1.0,"_meta":{"k":null}}}}'
        )
        outer.write(
            b'{"jsonrpc":"2.0","method":"_proxy/successor",'
            b'"params":{"method":"c/d","params":[ 1 ],"_meta":{"e":1}}}'
        )
        back = await outer.line()
        assert back.startswith(b'{"jsonrpc":"2.0","method":"c/d","params":[ 1 ]')


@pytest.mark.requirement("acp.shape-inner-params")
@pytest.mark.parametrize(
    "params", [b"", b',"params":null', b',"params":[1,"two"]', b',"params":{}']
)
async def test_inner_params_pass_unchanged(params: bytes) -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await initialize_proxy(proxy)
        agent = await it.agent()
        await agent.read()
        proxy.write(
            b'{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"m"%b}}' % params
        )
        # The agent is still initializing, so this waits for it.
        agent.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        assert await agent.line() == b'{"jsonrpc":"2.0","method":"m"%b}' % params


@pytest.mark.requirement("acp.shape-nested-envelope", "acp.role-agent-sees-no-envelope")
async def test_each_hop_unwraps_one_level_of_nested_envelopes() -> None:
    first, second = PlayedComponent("first"), PlayedComponent("second")
    async with chain_harness(first.component, second.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        upper, lower = await first.peer(), await second.peer()
        await initialize_proxy(upper)
        await initialize_proxy(lower)
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        await lower.read()
        lower.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        nested = {"method": "_proxy/successor", "params": {"method": "deep", "params": {"n": 1}}}
        upper.tell("_proxy/successor", nested)
        assert await lower.read() == {"jsonrpc": "2.0", **nested}
        lower.tell("_proxy/successor", nested)
        lower.ask("nested", "_proxy/successor", nested)
        refusal = await lower.read()
        assert (refusal["id"], refusal["error"]["code"]) == ("nested", -32601)
        assert refusal["error"]["data"] == "_proxy/successor"
        lower.tell("_proxy/successor", {"method": "last", "params": {}})
        assert (await agent.read())["method"] == "last"


@pytest.mark.requirement("acp.shape-malformed-envelope")
async def test_envelope_without_a_method_is_refused_and_the_connection_continues() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await initialize_proxy(proxy)
        proxy.tell("_proxy/successor", {"params": {}})
        proxy.ask("bad", "_proxy/successor", {"params": {}})
        refusal = await proxy.read()
        assert (refusal["id"], refusal["error"]["code"]) == ("bad", -32602)
        proxy.tell("log", {})
        assert (await it.client.read())["method"] == "log"


@pytest.mark.requirement("acp.role-agent-sees-no-envelope")
async def test_envelope_from_a_component_without_a_successor_is_refused() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(5, "_proxy/successor", {"method": "x"})
        assert (await it.client.read())["error"]["code"] == -32601
        it.client.tell("_proxy/successor", {"method": "x"})
        agent.ask(5, "_proxy/successor", {"method": "x"})
        assert (await agent.read())["error"]["code"] == -32601


@pytest.mark.requirement(
    "acp.proxy-forwards-proxy-initialize", "acp.role-conductor-alone-initializes-proxies"
)
async def test_forwarded_proxy_initialize_is_an_error_for_the_proxy_and_the_client() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        initialize = await proxy.read()
        inside = {"method": "_proxy/initialize", "params": VERSION_ONE}
        proxy.ask("on", "_proxy/successor", inside)
        refusal = await proxy.read()
        assert refusal["error"]["code"] == -32600
        assert "initialize/proxy" in refusal["error"]["data"]
        proxy.write({"jsonrpc": "2.0", "id": initialize["id"], "error": refusal["error"]})
        answer = await it.client.read()
        assert "initialize/proxy" in answer["error"]["data"]


@pytest.mark.requirement(
    "acp.dialect-envelope-sacp", "acp.dialect-one-meta-key", "acp.dialect-unknown-members"
)
async def test_envelope_metadata_and_unknown_members_pass_in_each_eras_words() -> None:
    async with proxy_harness(inner(), inner()) as (outer, _):
        outer.ask("g", "_proxy/initialize", VERSION_ONE)
        outer.answer(await outer.read(), VERSION_ONE)
        await outer.read()
        envelope = {"method": "m", "params": {}, "meta": {"a": 1}, "peer": "left"}
        outer.tell("_proxy/successor", envelope)
        assert (await outer.read())["peer"] == "left"
        # A component that wrote sacp names is addressed with sacp names: `meta`, never both.
        outer.write(b'{"jsonrpc":"2.0","method":"n","params":{},"_meta":{"b":2},"peer":"right"}')
        wrapped = (await outer.read())["params"]
        assert wrapped == {"method": "n", "params": {}, "meta": {"b": 2}, "peer": "right"}


@pytest.mark.requirement("acp.dialect-override")
async def test_configured_dialect_is_used_from_the_first_message() -> None:
    stand = PlayedComponent("old", Dialect.PACP_SEND)
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        initialize = await proxy.read()
        assert initialize["method"] == "initialize"
        assert initialize["params"] == {"protocolVersion": 1, "_meta": {"proxy": True}}
        inside = {"message": {"method": "initialize", "params": VERSION_ONE}}
        proxy.ask("on", "_proxy/successor/send/request", inside)
        agent = await it.agent()
        agent.tell("up", {})
        assert await proxy.read() == {
            "jsonrpc": "2.0",
            "method": "_proxy/successor/receive/notification",
            "params": {"message": {"method": "up", "params": {}}},
        }


@pytest.mark.requirement("conductor.mod-forward", "acp.t1-raw", "conductor.chain-nesting-no-byte")
async def test_undeclared_messages_pass_with_equal_bytes() -> None:
    line = b'{ "method" : "x/y" , "jsonrpc":"2.0", "params": {"b":1,  "a":null, "n":1e2} }'
    async with chain_harness(*mods(Arrow(), Arrow(), Arrow())) as it:
        agent = await it.open()
        agent.write(line)
        assert await it.client.line() == line
        it.client.write(line)
        assert await agent.line() == line
