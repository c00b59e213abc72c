"""Bridge and endpoints that stop while an agent still asks for a server."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec import Raw

from peerwire.acp.names import CONNECT, INITIALIZE
from peerwire.errors import RpcError
from peerwire.jsonrpc.values import encode_value
from symposium.bridge import http_endpoint, stdio_endpoint
from symposium.bridge.bridge import Bridge
from symposium.bridge.url_servers import UrlServers
from symposium.chain.calls import SHUTTING_DOWN
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Deferred, Forward, Mod

PLAIN: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}}
WEB: dict[str, Any] = {"type": "http", "name": "web", "url": "https://a.invalid", "headers": []}


def sent(mod: Mod, method: str, params: Any) -> Any:
    """The mod's outcome for a request."""
    handlers = {each.method: each.handler for each in mod.interceptions()}
    message = ChainMessage(method, Raw(encode_value(params)), is_request=True)
    return cast("Callable[[ChainMessage], Any]", handlers[method])(message)


async def stopped(mod: Bridge | UrlServers) -> None:
    """Initialize a mod for an agent without MCP capabilities, run it, and stop it."""
    greeted = sent(mod, INITIALIZE, {})
    assert isinstance(greeted, Forward)
    assert greeted.then is not None
    greeted.then(Answer(value=PLAIN))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(mod.run())
        await asyncio.sleep(0)
        running.cancel()


@pytest.mark.requirement("bridge.life-nothing-left")
async def test_stopped_bridge_opens_no_endpoint() -> None:
    bridge = Bridge("stdio")
    await stopped(bridge)
    ours = {"type": "acp", "name": "x", "serverId": "e"}

    with pytest.raises(RpcError) as caught:
        sent(bridge, "session/new", {"mcpServers": [ours]})
    assert caught.value == SHUTTING_DOWN


@pytest.mark.requirement("bridge.life-nothing-left")
async def test_stopped_owner_of_url_servers_opens_no_connection() -> None:
    owner = UrlServers()
    await stopped(owner)
    declared = sent(owner, "session/new", {"mcpServers": [WEB]}).params["mcpServers"]
    assert declared == [{"type": "acp", "name": "web", "serverId": "symposium-url-1"}]

    outcome = sent(owner, CONNECT, {"serverId": "symposium-url-1"})
    assert isinstance(outcome, Deferred)
    with pytest.raises(RpcError) as caught:
        await outcome.work
    assert caught.value == SHUTTING_DOWN


@pytest.mark.requirement("bridge.life-nothing-left")
@pytest.mark.parametrize("module", [http_endpoint, stdio_endpoint])
async def test_connection_accepted_right_before_the_close_is_closed(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted: list[Callable[[socket.socket], None]] = []

    class Port:
        port = 1

        def __init__(self, on_connection: Callable[[socket.socket], None]) -> None:
            accepted.append(on_connection)

        def close(self) -> None: ...

    monkeypatch.setattr(module, "LoopbackPort", Port)
    make = getattr(module, "HttpEndpoint", None) or module.ShimEndpoint
    agent, ours = socket.socketpair()
    with agent:
        async with asyncio.TaskGroup() as tasks:
            endpoint = make("s", None, tasks)
            accepted[0](ours)
            endpoint.close()

        assert ours.fileno() == -1
