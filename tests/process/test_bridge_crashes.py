"""Tools of a mod program that crashes."""

import asyncio
import sys
from pathlib import Path

import pytest

from peerwire.errors import PeerwireError
from peerwire.mcp.client import open_server
from peerwire.transports.command import Command
from symposium.chain.blueprint import Program
from symposium.chain.capabilities import Mode
from symposium.testing import FakeAgent, chain_of

MOD = """
import os
from symposium import run_mod
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer

def say() -> str:
    return "alive"

def die() -> str:
    os._exit(3)

run_mod(ToolMod(ToolServer("mortal", [say, die])))
"""


@pytest.mark.requirement("bridge.life-owner-dies", "conductor.death-mcp-closed")
@pytest.mark.requirement("bridge.life-nothing-left")
@pytest.mark.parametrize("mode", ["http", "stdio"])
async def test_call_that_crashes_its_mod_is_answered_and_the_port_closes(
    tmp_path: Path, mode: Mode
) -> None:
    script = tmp_path / "mortal.py"
    script.write_text(MOD)
    mod = Program("mortal", Command((sys.executable, str(script))))
    agent = FakeAgent()
    async with chain_of(mod, agent=agent, bridge=mode) as editor:
        await editor.new_session()
        (declared,) = agent.received.items[-1].params["mcpServers"]
        async with open_server(declared) as server:
            assert (await server.call_tool("say")).text == '"alive"'
            with pytest.raises(PeerwireError):
                await server.call_tool("die")
    port = (
        int(declared["url"].split(":")[2].partition("/")[0])
        if mode == "http"
        else int(declared["args"][-1])
    )
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
