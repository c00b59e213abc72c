"""An MCP server at a URL, as a program: for clients that start programs and open no URLs.

`python -m peerwire.mcp.relay URL`; headers stand in the environment, where no list of processes
shows them.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from peerwire.errors import PeerwireError
from peerwire.jsonrpc.codec import Overlong
from peerwire.jsonrpc.transport import Transport
from peerwire.mcp.streamable_http import HttpTransport
from peerwire.transports.stdio import stdio_transport

VARIABLE: Final = "MCP_RELAY_HEADERS"
"""A JSON list of pairs of a name and a value."""


def relay_declaration(declaration: dict[str, Any]) -> dict[str, Any]:
    """The stdio form of an `http` entry of `mcpServers`: this program, for that URL."""
    headers = [[each["name"], each["value"]] for each in declaration.get("headers") or ()]
    return {
        "name": declaration["name"],
        "command": sys.executable,
        "args": ["-I", "-m", "peerwire.mcp.relay", declaration["url"]],
        "env": [{"name": VARIABLE, "value": json.dumps(headers)}] if headers else [],
    }


async def _relay_standard_streams(url: str, headers: Iterable[tuple[str, str]]) -> None:
    await relay(stdio_transport(), url, headers)


async def relay(near: Transport, url: str, headers: Iterable[tuple[str, str]]) -> None:
    """Carry lines both ways until the near side ends.

    Raises:
        McpError: the URL is none.
    """
    over = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        far = HttpTransport(url, headers, tasks)
        far.start(_Passing(near, over))
        near.start(_Passing(far, over))
        await over.wait()
        await far.aclose()
        await near.aclose()


class _Passing:
    """Gives what one side says to the other."""

    def __init__(self, to: Transport, over: asyncio.Event) -> None:
        self._to = to
        self._over = over

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Pass them on; a line that is too long was never a message."""
        for line in lines:
            if not isinstance(line, Overlong):
                self._to.send(line)

    def writing_paused(self) -> None:
        """The other side is asked nothing while this one takes nothing."""
        self._to.pause_reading()

    def writing_resumed(self) -> None:
        """Go on."""
        self._to.resume_reading()

    def ended(self, error: Exception | None) -> None:
        """One side has nothing more to say."""
        del error
        self._over.set()


def main() -> None:
    """Relay our standard streams."""
    headers = [(name, value) for name, value in json.loads(os.environ.get(VARIABLE, "[]"))]
    try:
        asyncio.run(_relay_standard_streams(sys.argv[1], headers))
    except* PeerwireError as errors:
        sys.exit(f"{sys.argv[1]}: {errors.exceptions[0]}")


if __name__ == "__main__":
    main()
