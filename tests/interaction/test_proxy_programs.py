"""Proxies with and without peerwire, as programs (acp-host §1.4, issue part 1)."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, chain_harness, inner, mods, proxy_harness

from peerwire.transports.command import Command
from symposium.chain.blueprint import Program
from symposium.chain.mod import Mod

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.requirement("acp.proxy-default-initialize")
async def test_proxy_without_handlers_relays_initialize_and_its_response() -> None:
    params = {"protocolVersion": 1, "clientCapabilities": {"x": [1.0]}, "new": None}
    async with proxy_harness(*mods(Mod())) as (outer, _):
        outer.ask("g", "_proxy/initialize", params)
        initialize = await outer.read()
        assert initialize["params"] == {"method": "initialize", "params": params}
        outer.answer(initialize, {**VERSION_ONE, "agentCapabilities": {"y": 1}})
        assert (await outer.read())["result"] == {**VERSION_ONE, "agentCapabilities": {"y": 1}}
    async with proxy_harness(*mods(Mod())) as (outer, _):
        outer.ask("g", "_proxy/initialize", params)
        outer.refuse(await outer.read(), -32000, {"log": "in"})
        assert (await outer.read())["error"] == {
            "code": -32000,
            "message": "no",
            "data": {"log": "in"},
        }


@pytest.mark.requirement("acp.proxy-default-forward")
async def test_proxy_without_handlers_passes_everything_else_with_unchanged_params() -> None:
    async with chain_harness(inner(*mods(Mod()))) as it:
        agent = await it.open()
        for sender, receiver in ((it.client, agent), (agent, it.client)):
            sender.write(b'{"jsonrpc":"2.0","method":"any/thing","params":{ "a":1.0,"b":null }}')
            assert b'"params":{ "a":1.0,"b":null }' in await receiver.line()
            sender.write(b'{"jsonrpc":"2.0","id":"q","method":"m","params":[ 1 ]}')
            line = await receiver.line()
            assert line.endswith(b'"params":[ 1 ]}')


@pytest.mark.requirement("conductor.mod-out-of-process", "conductor.chain-nested-external")
@pytest.mark.parametrize("era", ["b1", "p1"])
async def test_proxy_in_any_language_works_as_a_program(era: str) -> None:
    argv = (sys.executable, "-I", str(SUPPORT / "bare_proxy.py"), era, ">")
    programs = [Program(f"bare-{number}", Command(argv, {})) for number in range(2)]
    async with chain_harness(*programs) as it:
        agent = await it.open()
        chunk: dict[str, Any] = {"content": {"type": "text", "text": "How do you do."}}
        agent.tell("session/update", {"sessionId": "s", "update": chunk})
        update = await it.client.read()
        assert update["params"]["update"]["content"]["text"] == ">>How do you do."


@pytest.mark.requirement("conductor.session-load-after-restart")
async def test_session_load_reaches_an_agent_that_saved_the_session_after_a_restart() -> None:
    for method, result in (("session/new", {"sessionId": "kept"}), ("session/load", {})):
        async with chain_harness(inner()) as it:
            agent = await it.open()
            it.client.ask(1, method, {"sessionId": "kept", "cwd": "/"})
            request = await agent.read()
            assert (request["method"], request["params"]["sessionId"]) == (method, "kept")
            agent.answer(request, result)
            assert (await it.client.read())["result"] == result
            await it.client.hang_up()
            assert await it.exit_code() == 0
