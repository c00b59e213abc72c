"""Start of a chain: eras, versions, bytes, failures, and new tries (acp-host §1.2, §2.2)."""

import asyncio
from typing import Any

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    Peer,
    PlayedComponent,
    bare,
    chain_harness,
    inner,
    mods,
    proxy_harness,
)

from peerwire.acp.names import Dialect
from peerwire.errors import RpcError
from peerwire.transports.command import Command
from symposium.chain.blueprint import Blueprint, InProcess, Program, Served
from symposium.chain.conductor import Settings
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, Refuse, Reply, from_client
from symposium.mods.arrow import Arrow


async def initialize_proxy(proxy: Peer) -> dict[str, Any]:
    """Read a proxy's initialize request and forward it."""
    request = await proxy.read()
    inside = {"method": "initialize", "params": request["params"]}
    proxy.ask("initialize", "_proxy/successor", inside)
    return request


@pytest.mark.requirement("conductor.init-single", "acp.method-initialize")
async def test_lone_agent_gets_initialize() -> None:
    async with chain_harness() as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        assert (await (await it.agent()).read())["method"] == "initialize"


@pytest.mark.requirement(
    "conductor.init-two",
    "conductor.init-three",
    "conductor.init-order",
    "conductor.init-rewritten-for-proxy",
    "acp.init-form-underscore",
)
@pytest.mark.parametrize("number", [1, 2])
async def test_components_before_the_last_are_initialized_as_proxies_in_order(number: int) -> None:
    stands = [PlayedComponent(f"p{at}") for at in range(number)]
    async with chain_harness(*(stand.component for stand in stands)) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        agent = await it.agent()
        for at, stand in enumerate(stands):
            peer = await stand.peer()
            later = [await other.peer() for other in stands[at + 1 :]]
            assert not any(other.unread for other in (*later, agent))
            assert (await initialize_proxy(peer))["method"] == "_proxy/initialize"
        initialize = await agent.read()
        assert initialize["method"] == "initialize"
        agent.answer(initialize, VERSION_ONE)
        for stand in reversed(stands):
            peer = await stand.peer()
            assert not it.client.unread
            answer = await peer.read()
            peer.write(
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "result": {**answer["result"], "by": stand.component.name},
                }
            )
        assert (await it.client.read())["result"] == {**VERSION_ONE, "by": "p0"}


@pytest.mark.requirement("conductor.init-lazy")
async def test_no_component_starts_before_the_first_initialize() -> None:
    asked: list[Any] = []

    def choose(params: Any) -> Blueprint:
        asked.append(params)
        raise RpcError(-32000, "not today")

    async with chain_harness(choose=choose) as it:
        it.client.tell("session/cancel", {})
        it.client.ask(0, "session/new", {})
        await it.client.read()
        assert not asked


@pytest.mark.requirement("conductor.init-instantiator-once", "conductor.init-edited-request")
@pytest.mark.parametrize("is_async", [False, True])
async def test_chooser_of_components_is_called_once_and_may_edit(is_async: bool) -> None:  # noqa: FBT001 - both forms of one parameter
    asked: list[Any] = []
    stand = PlayedComponent()
    blueprint = Blueprint([], stand.component, params={**VERSION_ONE, "edited": True})

    def choose(params: Any) -> Any:
        asked.append(params)

        async def later() -> Blueprint:
            return blueprint

        return later() if is_async else blueprint

    async with chain_harness(choose=choose) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        agent = await stand.peer()
        assert (await agent.read())["params"]["edited"]
        assert asked == [VERSION_ONE]


@pytest.mark.requirement("conductor.init-instantiator-forms")
async def test_components_are_a_list_or_a_function() -> None:
    async with chain_harness(*mods(Arrow())) as it:  # proxies and an agent
        await it.open()
    stand = PlayedComponent()
    async with chain_harness(
        choose=lambda _: Blueprint(mods(Arrow(), Arrow()), stand.component)
    ) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        await (await stand.peer()).read()


@pytest.mark.requirement("conductor.init-agent-mode-first", "conductor.state-client-early-request")
async def test_first_request_other_than_initialize_is_refused_and_fails_the_connection() -> None:
    async with chain_harness() as it:
        it.client.ask(0, "session/new", {})
        it.client.ask(1, "initialize", VERSION_ONE)
        for answer in await it.client.reads(2):
            assert answer["error"]["code"] == -32600
            assert answer["error"]["data"] == "expected `initialize` request"


@pytest.mark.requirement("conductor.state-client-early-request")
async def test_request_before_the_initialize_response_is_refused() -> None:
    async with chain_harness() as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        it.client.ask(1, "session/new", {})
        it.client.ask(2, "initialize", VERSION_ONE)
        for refusal in await it.client.reads(2):
            assert refusal["error"]["code"] == -32600
            assert refusal["error"]["data"] == "`initialize` has not been answered yet"
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        assert (await it.client.read())["id"] == 0


@pytest.mark.requirement("conductor.init-proxy-mode-first", "acp.proxy-refuses-plain-initialize")
async def test_plain_initialize_is_refused_in_proxy_mode() -> None:
    async with proxy_harness() as (outer, _):
        outer.ask(0, "initialize", VERSION_ONE)
        error = (await outer.read())["error"]
        assert error["code"] == -32600
        assert error["data"] == "proxies must be initialized with `_proxy/initialize`"


@pytest.mark.requirement("conductor.state-ready-second-initialize", "conductor.state-ready")
async def test_second_initialize_is_refused_and_the_connection_stays_ready() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "initialize", VERSION_ONE)
        assert (await it.client.read())["error"]["code"] == -32600
        it.client.ask(2, "session/list", {})
        agent.answer(await agent.read(), {"sessions": []})
        assert (await it.client.read())["result"] == {"sessions": []}


@pytest.mark.requirement("conductor.init-version-missing")
@pytest.mark.parametrize(
    "version", [{}, {"protocolVersion": "2"}, {"protocolVersion": 1.5}, {"protocolVersion": True}]
)
async def test_invalid_version_is_refused_at_once(version: dict[str, Any]) -> None:
    async with chain_harness() as it:
        it.client.ask(0, "initialize", version)
        error = (await it.client.read())["error"]
        assert error["code"] == -32602
        assert error["data"] == "initialize.protocolVersion must be a valid ACP protocol version"


@pytest.mark.requirement("conductor.init-version-zero", "acp.t9-version-pinned")
async def test_version_zero_is_refused_by_name_and_the_client_may_try_another() -> None:
    async with chain_harness() as it:
        it.client.ask(0, "initialize", {"protocolVersion": 0})
        assert "unsupported ACP protocol version 0" in (await it.client.read())["error"]["data"]
        await it.open()


@pytest.mark.requirement(
    "conductor.init-version-future",
    "conductor.init-nested-future",
    "peers.fastagent-echoed-version",
)
@pytest.mark.parametrize("components", [[], [inner()], [inner(inner())]])
async def test_future_version_reaches_the_components_as_two(components: list[Served]) -> None:
    async with chain_harness(*components) as it:
        it.client.ask(0, "initialize", {"protocolVersion": 99, "new": {"x": 1}})
        agent = await it.agent()
        initialize = await agent.read()
        assert initialize["params"] == {"protocolVersion": 2, "new": {"x": 1}}
        agent.answer(initialize, {"protocolVersion": 2})
        assert (await it.client.read())["result"] == {"protocolVersion": 2}


@pytest.mark.requirement("conductor.init-version-routed")
@pytest.mark.parametrize("version", [1, 2])
async def test_requested_version_reaches_the_agent_before_later_requests(
    version: int,
) -> None:
    async with chain_harness(inner()) as it:
        agent = await it.open({"protocolVersion": version}, {"protocolVersion": version})
        it.client.ask(1, "session/new", {})
        assert (await agent.read())["method"] == "session/new"


class Upgrade(Mod):
    """Requests another version than the client."""

    def __init__(self, seen: list[int]) -> None:
        self._seen = seen

    @from_client("initialize")
    def change(self, message: ChainMessage) -> Forward:
        self._seen.append(message.params["protocolVersion"])
        return Forward({**message.params, "protocolVersion": 1, "edited": True})


@pytest.mark.requirement(
    "conductor.init-version-pinned",
    "conductor.init-version-pinned-nested",
    "conductor.init-edited-request",
)
async def test_mods_and_choosers_cannot_change_the_version() -> None:
    stand = PlayedComponent()
    params = {"protocolVersion": 1}

    seen: list[int] = []

    def choose(_: Any) -> Blueprint:
        components = [*mods(Upgrade(seen)), inner(*mods(Upgrade(seen)))]
        return Blueprint(components, stand.component, params=params)

    async with chain_harness(choose=choose) as it:
        it.client.ask(0, "initialize", {"protocolVersion": 2})
        assert (await (await stand.peer()).read())["params"] == {
            "protocolVersion": 2,
            "edited": True,
        }
    assert seen == [2, 2]


@pytest.mark.requirement("conductor.init-version-answer-missing")
async def test_initialize_result_without_a_version_is_an_error() -> None:
    async with chain_harness() as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        agent = await it.agent()
        agent.answer(await agent.read(), {"agentCapabilities": {}})
        assert (await it.client.read())["error"]["data"]["reason"] == "protocol_version_missing"


RAW = (
    b'{"protocolVersion" : 1,"clientCapabilities":{ "x":1e2,'
    b'"big":123456789012345678901234567890},"u":null}'
)
RAW_RESULT = b'{"agentCapabilities":{"\\ud800":1.0 },  "protocolVersion":1,"new":[ ]}'


@pytest.mark.requirement(
    "conductor.init-raw",
    "conductor.init-unknown-response-fields",
    "conductor.init-nested-raw",
    "acp.t12-numbers",
    "acp.t12-lone-surrogates",
    "acp.capabilities-pass",
)
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_initialize_of_a_known_version_passes_with_equal_bytes(depth: int) -> None:
    component = inner()
    for _ in range(depth - 1):
        component = inner(component)
    async with chain_harness(*([component] if depth else []), *mods(Arrow())) as it:
        head = b'{"jsonrpc":"2.0","id":0,"method":"initialize",'
        it.client.write(head + b'"params":%b,"trace":"t"}' % RAW)
        agent = await it.agent()
        line = await agent.line()
        assert b'"params":%b' % RAW in line
        assert line.endswith(b'"trace":"t"}')
        agent.write(b'{"jsonrpc":"2.0","id":1,"result":%b}' % RAW_RESULT)
        assert await it.client.line() == b'{"jsonrpc":"2.0","id":0,"result":%b}' % RAW_RESULT
        assert not agent.unread


@pytest.mark.requirement("conductor.init-nested-rejected")
async def test_rejected_initialize_is_the_answer_to_all_later_requests_in_proxy_mode() -> None:
    async with proxy_harness() as (outer, _):
        outer.ask(0, "_proxy/initialize", VERSION_ONE)
        initialize = await outer.read()
        outer.refuse(initialize, -32000, "not you")
        outer_answer = await outer.read()
        outer.ask(1, "_proxy/initialize", VERSION_ONE)
        outer.ask(2, "session/new", {})
        again = await outer.reads(2)
        assert [one["error"] for one in again] == [outer_answer["error"]] * 2


@pytest.mark.requirement("conductor.init-timeout")
async def test_component_that_does_not_answer_initialize_is_named() -> None:
    quick = Settings(initialize_timeout=0.05, quiet_grace=0.02)
    async with chain_harness(inner(name="outer"), settings=quick) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        error = (await it.client.read())["error"]
        assert error["code"] == -32603
        assert error["data"]["reason"] == "initialize_timeout"
        # The timeout of a proxy is paused while its successor initializes.
        assert error["data"]["component"] == "agent"


@pytest.mark.requirement("peers.openhands-slow-start", "peers.start-times")
def test_initialize_timeout_is_far_above_the_slowest_agent() -> None:
    assert Settings().initialize_timeout >= 60


@pytest.mark.requirement("conductor.init-cancellable")
@pytest.mark.parametrize("nested", [[], [inner()]])
async def test_initialize_can_be_canceled_and_sent_again(nested: list[Served]) -> None:
    stands = [PlayedComponent(), PlayedComponent()]
    chosen = iter(stands)

    def choose(_: Any) -> Blueprint:
        return Blueprint(nested, next(chosen).component)

    async with chain_harness(choose=choose) as it:
        it.client.ask("first", "initialize", VERSION_ONE)
        agent = await stands[0].peer()
        initialize = await agent.read()
        it.client.tell("$/cancel_request", {"requestId": "first"})
        cancel = await agent.read()
        assert cancel["method"] == "$/cancel_request"
        assert cancel["params"] == {"requestId": initialize["id"]}
        agent.refuse(initialize, -32800)
        assert (await it.client.read())["error"]["code"] == -32800
        it.client.ask("second", "initialize", VERSION_ONE)
        agent = await stands[1].peer()
        agent.answer(await agent.read(), VERSION_ONE)
        assert (await it.client.read())["id"] == "second"


@pytest.mark.requirement("conductor.initialize-cancel")
async def test_initialize_can_be_canceled_while_the_components_are_chosen() -> None:
    stands = [PlayedComponent(), PlayedComponent()]
    left = iter(stands)
    chosen = asyncio.Event()

    async def choose(_: Any) -> Blueprint:
        stand = next(left)
        await chosen.wait()
        return Blueprint([], stand.component)

    async with chain_harness(choose=choose) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        it.client.tell("$/cancel_request", {"requestId": 0})
        assert (await it.client.read())["error"]["code"] == -32800
        it.client.ask(1, "initialize", VERSION_ONE)
        chosen.set()
        agent = await stands[1].peer()
        agent.answer(await agent.read(), VERSION_ONE)
        assert (await it.client.read())["id"] == 1
        await (await stands[0].peer()).ended()


@pytest.mark.requirement("conductor.initialize-cancel")
async def test_no_further_form_is_tried_for_a_canceled_initialize() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        initialize = await proxy.read()
        it.client.tell("$/cancel_request", {"requestId": 0})
        assert (await proxy.read())["method"] == "$/cancel_request"
        proxy.refuse(initialize, -32601)
        assert (await it.client.read())["error"]["code"] == -32800
        assert not proxy.unread


@pytest.mark.requirement(
    "acp.init-form-rfd", "acp.init-form-p0", "acp.init-form-order", "acp.dialect-envelope-rfd"
)
@pytest.mark.parametrize(
    ("known", "tried", "envelope"),
    [
        ("_proxy/initialize", ["_proxy/initialize"], "_proxy/successor"),
        ("proxy/initialize", ["_proxy/initialize", "proxy/initialize"], "proxy/successor"),
        (
            "initialize",
            ["_proxy/initialize", "proxy/initialize", "initialize"],
            "_proxy/successor/notification",
        ),
    ],
)
async def test_forms_are_tried_in_order_and_the_known_one_fixes_the_envelope(
    known: str, tried: list[str], envelope: str
) -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        seen: list[str] = []
        while True:
            request = await proxy.read()
            seen.append(request["method"])
            if request["method"] == known:
                break
            proxy.refuse(request, -32601)
        assert seen == tried
        is_flagged = known == "initialize"
        assert request["params"].get("_meta") == ({"proxy": True} if is_flagged else None)
        meta = {"_meta": {"proxy": True}} if is_flagged else {}
        proxy.answer(request, {**VERSION_ONE, **meta})
        assert (await it.client.read())["result"] == VERSION_ONE
        (await it.agent()).tell("up", {})
        assert (await proxy.read())["method"] == envelope


@pytest.mark.requirement("acp.init-form-order")
async def test_any_other_error_ends_the_tries_and_is_the_response() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        proxy.refuse(await proxy.read(), -32000, {"why": "login"})
        error = (await it.client.read())["error"]
        assert (error["code"], error["data"]) == (-32000, {"why": "login"})
        assert not proxy.unread


@pytest.mark.requirement("acp.init-form-p0-unconfirmed")
async def test_agent_in_the_place_of_a_proxy_is_an_error() -> None:
    stand = PlayedComponent("claude")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        agent = await stand.peer()
        for _ in range(2):
            agent.refuse(await agent.read(), -32601)
        agent.answer(await agent.read(), VERSION_ONE)
        error = (await it.client.read())["error"]
        assert (error["code"], error["data"]) == (-32600, "component claude is not a proxy")


@pytest.mark.requirement("acp.init-form-accepted-by-us")
@pytest.mark.parametrize(
    ("method", "flag", "envelope"),
    [
        ("_proxy/initialize", {}, "_proxy/successor"),
        ("proxy/initialize", {}, "proxy/successor"),
        ("initialize", {"_meta": {"proxy": True}}, "_proxy/successor/request"),
    ],
)
async def test_each_form_of_initialize_is_answered_in_its_era_in_proxy_mode(
    method: str, flag: dict[str, Any], envelope: str
) -> None:
    async with proxy_harness() as (outer, _):
        outer.ask(0, method, {**VERSION_ONE, **flag})
        initialize = await outer.read()
        assert initialize["method"] == envelope
        assert initialize["params"]["params"] == VERSION_ONE
        outer.answer(initialize, VERSION_ONE)
        assert (await outer.read())["result"] == {**VERSION_ONE, **flag}


@pytest.mark.requirement(
    "acp.dialect-per-connection",
    "acp.dialect-envelope-p0",
    "acp.dialect-envelope-p1",
    "acp.dialect-envelope-b1",
    "conductor.mod-mixed-with-processes",
    "conductor.chain-two-arrows",
    "stories.a-13-eras",
)
async def test_chain_of_all_eras_works_and_each_component_gets_only_its_own_names() -> None:
    eras = ["sacp", "b1", "p1", "p0", "rfd"]
    made = {era: bare(era, era=era, mark=era[0]) for era in eras}
    components = [component for component, _ in made.values()]
    components[3] = Served("p0", components[3].serve, Dialect.PACP_SEND)
    components[0] = Served("sacp", components[0].serve, Dialect.SACP)
    async with chain_harness(*components, *mods(Arrow())) as it:
        agent = await it.open()
        it.client.ask("q", "session/prompt", {"sessionId": "s", "prompt": []})
        asked = await agent.read()
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}
        agent.tell("session/update", {"sessionId": "s", "update": chunk})
        agent.answer(asked, {"stopReason": "end_turn"})
        update, answer = await it.client.reads(2)
        assert update["params"]["update"]["content"]["text"] == "sbppr>hi"
        assert answer == {"jsonrpc": "2.0", "id": "q", "result": {"stopReason": "end_turn"}}
    names = {era: set(proxy.seen) for era, (_, proxy) in made.items()}
    for era in ("b1", "sacp"):
        assert names[era] == {"_proxy/initialize", "session/prompt", "_proxy/successor"}
    assert "proxy/successor" in names["rfd"]
    assert "_proxy/successor/notification" in names["p1"]
    assert "_proxy/successor/receive/notification" in names["p0"]


@pytest.mark.requirement("acp.dialect-last-seen")
async def test_peer_that_changes_its_envelopes_is_answered_under_the_last_name() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        proxy.answer(await proxy.read(), VERSION_ONE)
        agent = await it.agent()
        for name in ("proxy/successor", "_proxy/successor/notification", "_proxy/successor"):
            proxy.tell(name, {"method": "initialized", "params": {}})
            agent.tell("up", {})
            assert (await proxy.read())["method"] == name


@pytest.mark.requirement("conductor.state-initializing-out", "conductor.state-spawning-buffers")
async def test_messages_for_a_component_that_initializes_wait_in_order() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await initialize_proxy(proxy)
        agent = await it.agent()
        initialize = await agent.read()
        proxy.tell("_proxy/successor", {"method": "one"})
        proxy.ask("two", "_proxy/successor", {"method": "two"})
        proxy.tell("_proxy/successor", {"method": "three"})
        proxy.tell("seen", {})
        assert (await it.client.read())["method"] == "seen"
        assert not agent.unread
        agent.answer(initialize, VERSION_ONE)
        assert [message["method"] for message in await agent.reads(3)] == ["one", "two", "three"]


@pytest.mark.requirement("conductor.state-initializing-in")
async def test_messages_of_a_component_that_initializes_are_routed() -> None:
    async with chain_harness(*mods(Arrow())) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        agent = await it.agent()
        initialize = await agent.read()
        agent.tell("_auth/status_update", {"ok": False})
        agent.ask("e", "elicitation/create", {"message": "who?"})
        notification, asked = await it.client.reads(2)
        assert (notification["method"], asked["method"]) == (
            "_auth/status_update",
            "elicitation/create",
        )
        it.client.answer(asked, {"action": "decline"})
        assert (await agent.read())["result"] == {"action": "decline"}
        agent.answer(initialize, VERSION_ONE)
        assert (await it.client.read())["id"] == 0


@pytest.mark.requirement("conductor.state-initializing-in", "acp.t4-order")
async def test_proxy_gets_messages_of_its_initialized_successor_in_order() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await initialize_proxy(proxy)
        agent = await it.agent()
        initialize = await agent.read()
        agent.tell("_auth/status_update", {})
        agent.answer(initialize, VERSION_ONE)
        first, second = await proxy.reads(2)
        assert first["params"]["method"] == "_auth/status_update"
        assert second["id"] == "initialize"


@pytest.mark.requirement("conductor.initialize-once")
async def test_component_is_initialized_once() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await initialize_proxy(proxy)
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        assert "result" in await proxy.read()
        proxy.ask("again", "_proxy/successor", {"method": "initialize", "params": VERSION_ONE})
        error = (await proxy.read())["error"]
        assert (error["code"], error["data"]) == (-32600, "agent has been initialized already")
        assert not agent.unread


@pytest.mark.requirement("conductor.state-spawning-failed", "conductor.death-while-starting")
async def test_program_that_cannot_start_is_one_error_and_started_ones_end() -> None:
    stand = PlayedComponent("first")
    missing = Program("missing", Command(("/nowhere/missing",), {}))
    async with chain_harness(stand.component, missing) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        data = (await it.client.read())["error"]["data"]
        assert data["reason"] == "component_start_failed"
        assert (data["component"], data["index"]) == ("missing", 1)
        assert (data["argv"], data["errno"]) == (["/nowhere/missing"], 2)
        await it.client.hang_up()
        assert await it.exit_code() == 1


class Broken(Mod):
    """Fails when asked for its interceptions."""

    def interceptions(self) -> Any:
        raise LookupError


@pytest.mark.requirement("conductor.initialize-failed")
@pytest.mark.parametrize(("failing", "fault"), [("choice", "no settings"), ("mod", "LookupError")])
async def test_chain_that_cannot_be_made_is_an_error_and_can_be_tried_again(
    failing: str, fault: str
) -> None:
    stand = PlayedComponent()
    tried: list[int] = []

    def choose(_: Any) -> Blueprint:
        tried.append(1)
        if len(tried) > 1:
            return Blueprint([], stand.component)
        if failing == "choice":
            raise LookupError("no settings")
        return Blueprint([InProcess("broken", Broken())], PlayedComponent().component)

    async with chain_harness(choose=choose) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        data = (await it.client.read())["error"]["data"]
        assert data == {"reason": "chain_not_made", "fault": fault}
        it.client.ask(1, "initialize", VERSION_ONE)
        agent = await stand.peer()
        agent.answer(await agent.read(), VERSION_ONE)
        assert (await it.client.read())["id"] == 1
        await it.client.hang_up()
        assert await it.exit_code() == 0


@pytest.mark.requirement("conductor.death-while-starting")
async def test_initialize_fails_at_once_when_a_component_exits_before_it() -> None:
    first = PlayedComponent("first")

    async def vanish(transport: Any) -> None:
        await transport.aclose()

    async with chain_harness(first.component, Served("second", vanish)) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        error = (await it.client.read())["error"]
        assert error["data"]["component"] == "second"
        assert error["data"]["reason"] == "component_exited"
        await (await first.peer()).ended()


class Answers(Mod):
    """Answers initialize instead of the agent, correctly or not."""

    def __init__(self, outcome: Reply | Refuse) -> None:
        self._outcome = outcome

    @from_client("initialize")
    def answer(self, _: ChainMessage) -> Reply | Refuse:
        return self._outcome


@pytest.mark.requirement("conductor.initialize-mod")
async def test_mod_may_answer_initialize_itself() -> None:
    async with chain_harness(*mods(Answers(Reply({"protocolVersion": 1, "mine": 1})))) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        assert (await it.client.read())["result"]["mine"] == 1
    async with chain_harness(*mods(Answers(Refuse(RpcError(-32000, "log in"))))) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        assert (await it.client.read())["error"]["code"] == -32000
