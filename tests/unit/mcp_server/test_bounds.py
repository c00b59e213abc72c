"""Long names and long lines cost the server little."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp_harness import serving, workplace_in

from peerwire.testing import LinePeer
from peerwire.transports.memory import memory_pair
from symposium.mcp_server.transports import own_server

LONG = "x" * 100_000


@pytest.mark.requirement("mcp-server.lines")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {"cursor": LONG}),
        ("tools/call", {"name": LONG}),
        ("prompts/get", {"name": LONG}),
        ("resources/read", {"uri": LONG}),
    ],
)
async def test_error_repeats_only_the_beginning_of_a_long_name(
    method: str, params: dict[str, Any], tmp_path: Path
) -> None:
    async with serving(own_server(workplace_in(tmp_path)).serve) as client:
        await client.greet()
        error = (await client.ask(method, params))["error"]

    assert len(error["message"]) < 300
    assert len(json.dumps(error["data"])) < 3000


@pytest.mark.requirement("mcp-server.arguments")
async def test_tool_without_arguments_says_so_when_it_gets_one(tmp_path: Path) -> None:
    async with serving(own_server(workplace_in(tmp_path)).serve) as client:
        await client.greet()
        params = {"name": "get_selection", "arguments": {"x": 1}}
        result = await client.result("tools/call", params)

    assert result["isError"] is True
    assert result["content"][0]["text"].endswith(". The tool takes no arguments.")


@pytest.mark.requirement("mcp-server.lines")
async def test_too_long_line_is_answered_and_the_next_one_is_served(tmp_path: Path) -> None:
    near, far = memory_pair(limit=1000)
    client = LinePeer(near)
    server = own_server(workplace_in(tmp_path))
    async with asyncio.TaskGroup() as tasks:
        serving_far = tasks.create_task(server.serve(far))
        client.write(b"x" * 2000, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        refused, answered = await client.read(2)
        await near.aclose()
        await serving_far

    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert refused["error"]["data"] == "the line is longer than 1000 bytes"
    assert answered["id"] == 1
