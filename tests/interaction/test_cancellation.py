"""Cancellation hop by hop and once, with a response for each request (acp-host §1.8)."""

import asyncio
from typing import Any

import pytest
from tests.support.chain_harness import Peer, bare, chain_harness, inner, mods

from symposium.chain.blueprint import Component
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Mod, from_agent, from_client


class Rewrites(Mod):
    """Edits setup requests, and watches the response."""

    @from_client("session/new", "session/resume")
    def edit(self, message: ChainMessage) -> Forward:
        return Forward({**message.params, "mcpServers": []}, then=self._look)

    def _look(self, answer: Answer) -> None:
        assert isinstance(answer.result, dict)


class Waits(Mod):
    """Handles everything in a later turn of the loop."""

    @from_client("*")
    async def down(self, _: ChainMessage) -> Forward:
        await asyncio.sleep(0)
        return Forward()

    @from_agent("*")
    async def up(self, _: ChainMessage) -> Forward:
        await asyncio.sleep(0)
        return Forward()


def chains() -> list[Any]:
    """Return chains of all kinds."""
    return [
        pytest.param(list, id="no proxy"),
        pytest.param(lambda: mods(Rewrites()), id="a mod that rewrites"),
        pytest.param(lambda: mods(Waits(), Rewrites()), id="a mod that waits"),
        pytest.param(lambda: [bare("one")[0], bare("two", era="p1")[0]], id="two bare proxies"),
        pytest.param(lambda: [bare("old", era="rfd")[0], *mods(Rewrites())], id="proxy and mod"),
        pytest.param(lambda: [inner(*mods(Rewrites())), inner(inner())], id="nested conductors"),
    ]


def cancels(peer: Peer) -> list[bytes]:
    return [line for line in peer.unread if isinstance(line, bytes) and b"cancel_request" in line]


@pytest.mark.requirement(
    "conductor.cancel-client-to-agent",
    "conductor.cancel-session-new",
    "conductor.session-helper-cancel",
    "conductor.session-resume-cancel",
    "acp.t6-cancel",
    "acp.method-cancel-request",
)
@pytest.mark.parametrize("method", ["session/new", "session/resume", "session/prompt", "ext/any"])
@pytest.mark.parametrize("chain", chains())
async def test_cancel_of_the_client_reaches_the_agent_once_under_its_own_id(
    chain: Any, method: str
) -> None:
    components: list[Component] = chain()
    async with chain_harness(*components) as it:
        agent = await it.open()
        it.client.ask("other", "session/new", {"cwd": "/other"})
        other = await agent.read()
        it.client.ask("mine", method, {"sessionId": "s", "cwd": "/"})
        request = await agent.read()
        it.client.tell("$/cancel_request", {"requestId": "mine"})
        it.client.tell("$/cancel_request", {"requestId": "mine"})
        cancel = await agent.read()
        assert cancel["method"] == "$/cancel_request"
        assert cancel["params"] == {"requestId": request["id"]}
        agent.refuse(request, -32800)
        answer = await it.client.read()
        assert (answer["id"], answer["error"]["code"]) == ("mine", -32800)
        agent.answer(other, {"sessionId": "other"})
        assert (await it.client.read())["result"] == {"sessionId": "other"}
        it.client.ask("next", method, {"sessionId": "s", "cwd": "/"})
        agent.answer(await agent.read(), {"sessionId": "s"})
        assert (await it.client.read())["result"] == {"sessionId": "s"}
        assert not cancels(agent)


@pytest.mark.requirement("conductor.cancel-agent-to-client")
@pytest.mark.parametrize("chain", chains())
async def test_cancel_of_an_agent_reaches_the_client_once_under_its_own_id(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        agent.ask(0, "session/request_permission", {"sessionId": "s"})
        request = await it.client.read()
        agent.tell("$/cancel_request", {"requestId": 0})
        cancel = await it.client.read()
        assert cancel["params"] == {"requestId": request["id"]}
        it.client.refuse(request, -32800)
        answer = await agent.read()
        assert (answer["id"], answer["error"]["code"]) == (0, -32800)


@pytest.mark.requirement("conductor.cancel-without-request")
@pytest.mark.parametrize(
    "params", [{}, {"requestId": "missing"}, {"requestId": {}}, [1], {"requestId": None}]
)
async def test_cancel_of_an_unknown_request_is_ignored(params: Any) -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.write({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params})
        it.client.write(b'{"jsonrpc":"2.0","method":"$/cancel_request"}')
        it.client.tell("next")
        assert (await agent.read())["method"] == "next"


@pytest.mark.requirement("conductor.cancel-late-result")
async def test_result_after_a_cancel_is_relayed() -> None:
    async with chain_harness(*mods(Rewrites())) as it:
        agent = await it.open()
        it.client.ask(1, "session/new", {})
        request = await agent.read()
        it.client.tell("$/cancel_request", {"requestId": 1})
        await agent.read()
        agent.answer(request, {"sessionId": "late"})
        assert (await it.client.read())["result"] == {"sessionId": "late"}


@pytest.mark.requirement("conductor.cancel-prompt-and-permission")
async def test_cancel_of_a_prompt_that_waits_for_a_permission_cancels_both() -> None:
    async with chain_harness(bare()[0], *mods(Rewrites())) as it:
        agent = await it.open()
        it.client.ask("p", "session/prompt", {"sessionId": "s"})
        prompt = await agent.read()
        agent.ask(0, "session/request_permission", {"sessionId": "s"})
        permission = await it.client.read()
        it.client.tell("$/cancel_request", {"requestId": "p"})
        assert (await agent.read())["params"] == {"requestId": prompt["id"]}
        agent.tell("$/cancel_request", {"requestId": 0})
        assert (await it.client.read())["params"] == {"requestId": permission["id"]}
        it.client.refuse(permission, -32800)
        assert (await agent.read())["error"]["code"] == -32800
        agent.refuse(prompt, -32800)
        assert (await it.client.read())["error"]["code"] == -32800
        it.client.ask("q", "session/prompt", {"sessionId": "s"})
        asked = await agent.read()
        agent.tell("session/update", {"sessionId": "s", "update": {"text": ">barrier"}})
        agent.answer(asked, {"stopReason": "end_turn"})
        update, answer = await it.client.reads(2)
        assert update["params"]["update"]["text"] == ">barrier"
        assert answer["id"] == "q"


@pytest.mark.requirement("conductor.peer-never-answers", "peers.openhands-ignores-cancel")
async def test_agent_that_ignores_a_cancel_keeps_only_its_own_turn_open() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s"})
        await agent.read()
        it.client.tell("$/cancel_request", {"requestId": 1})
        await agent.read()
        it.client.ask(2, "session/list", {})
        agent.answer(await agent.read(), {})
        assert (await it.client.read())["id"] == 2
        await it.client.hang_up()
        assert await it.exit_code() == 0


@pytest.mark.requirement("conductor.cancel-client-leaves")
async def test_open_requests_of_a_client_are_canceled_when_it_disconnects() -> None:
    async with chain_harness(inner()) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s"})
        request = await agent.read()
        await it.client.hang_up()
        cancel = await agent.read()
        assert cancel["params"] == {"requestId": request["id"]}
        await agent.ended()


@pytest.mark.requirement("conductor.session-invalid-success")
async def test_malformed_result_is_relayed_and_a_second_try_works() -> None:
    async with chain_harness(*mods(Waits())) as it:
        agent = await it.open()
        for result in ("not an object", {"sessionId": "s"}):
            it.client.ask(1, "session/new", {})
            agent.answer(await agent.read(), result)
            assert (await it.client.read())["result"] == result


@pytest.mark.requirement("acp.t7-elicitation-request-id")
async def test_request_id_of_an_elicitation_is_translated_on_each_hop() -> None:
    async with chain_harness(inner(), inner(*mods(Waits())), inner()) as it:
        agent = await it.open()
        it.client.ask("the prompt", "session/prompt", {"sessionId": "s"})
        prompt = await agent.read()
        agent.ask(7, "elicitation/create", {"requestId": prompt["id"], "message": "?", "n": 1.0})
        asked = await it.client.line()
        assert b'"requestId":"the prompt"' in asked
        assert b'"n":1.0' in asked


@pytest.mark.requirement("acp.t7-elicitation-request-id")
async def test_elicitation_during_initialize_names_the_clients_request() -> None:
    async with chain_harness(inner()) as it:
        it.client.ask("open", "initialize", {"protocolVersion": 1})
        agent = await it.agent()
        initialize = await agent.read()
        agent.ask(0, "elicitation/create", {"requestId": initialize["id"], "message": "?"})
        assert (await it.client.read())["params"]["requestId"] == "open"


@pytest.mark.requirement("acp.t7-unknown-request-id")
async def test_unknown_request_id_in_an_elicitation_passes_unchanged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with chain_harness() as it:
        agent = await it.open()
        agent.write(
            b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create",'
            b'"params":{"requestId": "who", "message":"?"}}'
        )
        assert b'"params":{"requestId": "who", "message":"?"}' in await it.client.line()
    assert 'agent named request "who", which is not open' in caplog.text
