"""Mod without handlers, as a proxy in another host's chain (acp-host §1.4)."""

import json
from typing import Any

import pytest
from tests.support.chain_harness import Peer, mods, proxy_harness

from symposium.chain.mod import Mod

PARAMS = {"protocolVersion": 1, "clientCapabilities": {"x": 1.50}, "unknown": [None]}
RESULT = {"protocolVersion": 1, "agentCapabilities": {"y": "é"}, "more": {}}


async def initialized(outer: Peer) -> dict[str, Any]:
    """Initialize the proxy, answer as its successor; return its response."""
    outer.ask("initialize", "_proxy/initialize", PARAMS)
    passed = await outer.read()
    assert passed["method"] == "_proxy/successor"
    assert passed["params"] == {"method": "initialize", "params": PARAMS}
    outer.answer(passed, RESULT)
    return await outer.read()


@pytest.mark.requirement("acp.proxy-default-initialize")
async def test_initialize_and_its_response_pass() -> None:
    async with proxy_harness(*mods(Mod())) as (outer, _):
        assert await initialized(outer) == {"jsonrpc": "2.0", "id": "initialize", "result": RESULT}


@pytest.mark.requirement("acp.proxy-default-initialize")
async def test_error_to_initialize_passes() -> None:
    async with proxy_harness(*mods(Mod())) as (outer, _):
        outer.ask("initialize", "_proxy/initialize", PARAMS)
        outer.refuse(await outer.read(), -32000, {"why": "log in"})
        error = {"code": -32000, "message": "no", "data": {"why": "log in"}}
        assert await outer.read() == {"jsonrpc": "2.0", "id": "initialize", "error": error}


@pytest.mark.requirement("acp.proxy-default-forward")
@pytest.mark.parametrize("method", ["session/prompt", "_vendor/anything", "unheard/of"])
async def test_other_messages_pass_both_ways_with_unchanged_params(method: str) -> None:
    params = {"sessionId": "s", "big": 12345678901234567890, "_meta": {"traceparent": "00-1"}}
    async with proxy_harness(*mods(Mod())) as (outer, _):
        await initialized(outer)
        outer.tell(method, params)
        down = await outer.read()
        assert down["params"] == {"method": method, "params": params}
        assert "id" not in down
        outer.tell("_proxy/successor", {"method": method, "params": params})
        assert await outer.read() == {"jsonrpc": "2.0", "method": method, "params": params}
        outer.ask(1, method, params)
        asked = await outer.read()
        assert asked["params"] == {"method": method, "params": params}
        outer.answer(asked, params)
        assert await outer.read() == {"jsonrpc": "2.0", "id": 1, "result": params}
        outer.ask(2, "_proxy/successor", {"method": method, "params": params})
        up = await outer.read()
        assert (up["method"], up["params"]) == (method, params)
        outer.refuse(up, -32601, json.dumps(method))
        assert (await outer.read())["error"]["data"] == json.dumps(method)
