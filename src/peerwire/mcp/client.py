"""Open an MCP server from its declaration: a program, a URL, or a mod over ACP."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from peerwire.mcp.session import AcpMcpConnections, McpClientSession, McpError
from peerwire.task_group import flat_task_group
from peerwire.transports.command import Command
from peerwire.transports.memory import ForwardingTransport
from peerwire.transports.process import spawn

_CANCELLATION: Final = b'{"jsonrpc":"2.0","method":"$/cancel_request",'
_MCPS: Final = b'{"jsonrpc":"2.0","method":"notifications/cancelled",'


class McpLines(ForwardingTransport):
    """Transport to an MCP peer that translates the cancellation of ACP.

    Both notifications name the request in `requestId`, so only the method changes.
    """

    def send(self, line: bytes) -> None:
        """Send one line; translate a cancellation."""
        if line.startswith(_CANCELLATION):
            line = _MCPS + line.removeprefix(_CANCELLATION)
        self._transport.send(line)


MCP_CLIENT_TIMEOUT: Final = 30.0
"""Timeout of `initialize` in seconds; the first start with `npx` takes long."""


@asynccontextmanager
async def open_server(
    declaration: Mapping[str, Any],
    *,
    tunnels: AcpMcpConnections | None = None,
    cwd: str | None = None,
    seconds: float = MCP_CLIENT_TIMEOUT,
) -> AsyncGenerator[McpClientSession, None]:
    """Start and initialize a server of a session; it ends with the block.

    Args:
        declaration: one entry of `mcpServers`: stdio, http, or `acp`.
        tunnels: connections over ACP to the client, for servers declared as `acp`.
        cwd: working directory of a program.
        seconds: timeout of `initialize`.

    Raises:
        PeerwireError: it cannot be started or reached, or returned an error.
    """
    name = str(declaration.get("name", "the server"))
    async with flat_task_group() as tasks:
        match declaration:
            case {"type": "acp", "serverId": str(server_id)}:
                if tunnels is None:
                    raise McpError(f"{name} is declared as `acp`, without an ACP connection")
                async with tunnels.open(server_id) as wire:
                    server = McpClientSession(name, wire)
                    await _initialize(server, seconds)
                    yield server
            case _:
                transport = _transport(name, declaration, cwd, tasks)
                connection = Connection(McpLines(transport), Handlers(requests={"ping": _pong}))
                tasks.create_task(connection.run())
                try:
                    server = McpClientSession(name, connection)
                    await _initialize(server, seconds)
                    yield server
                finally:
                    connection.close()


def _pong(_: Request) -> dict[str, Any]:
    return {}


async def _initialize(server: McpClientSession, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await server.initialize()
    except TimeoutError as error:
        raise McpError(f"{server.name}: initialize timed out after {seconds:g} s") from error


def _transport(
    name: str, declaration: Mapping[str, Any], cwd: str | None, tasks: asyncio.TaskGroup
) -> Transport:
    match declaration:
        case {"type": "http", "url": str(url)}:
            from peerwire.mcp.streamable_http import HttpTransport

            return HttpTransport(url, _pairs(declaration.get("headers")), tasks)
        case {"command": str(program)}:
            argv = (program, *(str(word) for word in declaration.get("args") or ()))
            return spawn(Command(argv, dict(_pairs(declaration.get("env"))), name, cwd))
        case _:
            raise McpError(f"{name} has an unknown kind of declaration: {declaration!r}")


def _pairs(entries: Any) -> list[tuple[str, str]]:
    return [(str(entry["name"]), str(entry["value"])) for entry in entries or ()]
