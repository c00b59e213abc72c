"""Servers at a URL, for an agent that takes servers over ACP only."""

from typing import Any

import pytest

from symposium.bridge.url_servers import UrlServers
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
