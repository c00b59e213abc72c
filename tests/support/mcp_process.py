"""`symposium mcp` as a child process of a test, and its folders."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from symposium.bus.client import BusClient
from symposium.bus.messages.broker import Present, Who

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "0"},
}


class Spoken:
    """Server as a child process, and its lines."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self._ids = 0

    async def result(self, method: str, params: Any = None) -> Any:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._ids += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._ids, "method": method}
        message["params"] = params or {}
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        async with asyncio.timeout(45):
            while True:
                answer = json.loads(await self.child.stdout.readline())
                if answer.get("id") == self._ids:
                    return answer["result"]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self.result("tools/call", {"name": name, "arguments": arguments})


@asynccontextmanager
async def speaking(folder: Path, *words: str, **more: str) -> AsyncGenerator[Spoken]:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "symposium", "mcp", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "SYMPOSIUM_HOME": str(folder), **more},
    )
    spoken = Spoken(child)
    try:
        await spoken.result("initialize", INITIALIZE)
        yield spoken
    finally:
        assert child.stdin is not None
        child.stdin.close()
        async with asyncio.timeout(45):
            await child.wait()


async def joined(editor: BusClient) -> Present:
    """Return the server once it has joined the bus."""
    async with asyncio.timeout(45):
        while True:
            for each in await editor.request(Who()):
                if each.role == "mcp-server":
                    return each


def repository_in(folder: Path) -> None:
    """Create a clone with one commit."""
    folder.mkdir()
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q", "-b", "main"], [*who, "commit", "-q", "--allow-empty", "-m", "1"]):
        subprocess.run(["/usr/bin/env", "git", *words], cwd=folder, check=True)
