"""TCP endpoint of one MCP server of a mod, for the shim (acp-host §2.5)."""

import asyncio
import logging
import socket
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, Raw, UnsetType

from localio.loopback import Connections, LoopbackPort, is_same, new_token
from peerwire.errors import RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.values import encode_value
from peerwire.mcp.client import McpLines
from peerwire.transports.fd import FdTransport
from symposium.bridge.dialects import without_bridge_keys
from symposium.bridge.requests_in_flight import CANCELLED, InFlight
from symposium.bridge.tunnel import Tunnel, Tunnels
from symposium.chain.running_chain import log_failures

SHIM: Final = Path(__file__).with_name("shim.py")

TOKEN_VARIABLE: Final = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable, not its value
"""Environment variable with the endpoint's token, for the shim."""

INITIALIZE_TIMEOUT: Final = 10.0
"""Seconds in which a new connection must send the token."""

MAX_CONNECTIONS: Final = 64
"""Maximum number of connections to one endpoint: one per client of the agent."""

MAX_UNPROVEN: Final = 16
"""Maximum number of connections without the token; beyond it, the oldest is closed."""

MAX_BACKLOG: Final = 16 * 1024 * 1024
"""Maximum size of unread output, in bytes; beyond it, the client counts as disconnected."""

_log = logging.getLogger(__name__)


class ShimEndpoint:
    """TCP endpoint of one server for the shim; open until `aclose`.

    Args:
        server_id: the MCP server.
        tunnels: opens connections to the server's owner.
        tasks: task group for the connections.
    """

    def __init__(self, server_id: str, tunnels: Tunnels, tasks: asyncio.TaskGroup) -> None:
        self._server_id = server_id
        self._tunnels = tunnels
        self._tasks = tasks
        self._token = new_token()
        self._connections = Connections(MAX_CONNECTIONS, MAX_UNPROVEN)
        self._open: set[Tunnel] = set()
        self._listener = LoopbackPort(self._connected)

    def declaration(self, declaration: Mapping[str, Any], *, is_typed: bool) -> dict[str, Any]:
        """Server declaration that starts the shim with the port of this endpoint."""
        return stdio_declaration(declaration, self._listener.port, self._token, is_typed=is_typed)

    def close(self) -> None:
        """Close the port and every connection to it."""
        self._listener.close()
        self._connections.cancel()

    async def aclose(self) -> None:
        """Close, and notify the owner that its clients disconnected."""
        self.close()
        for tunnel in list(self._open):
            await tunnel.aclose()

    def _connected(self, sock: socket.socket) -> None:
        if not self._connections.has_room():
            _log.warning("refused a connection to an MCP server: %d are open", MAX_CONNECTIONS)
            sock.close()
            return
        task = self._tasks.create_task(log_failures("the bridge", partial(self._serve, sock)))
        self._connections.add(task)
        # Also without the token, and if canceled before its first step.
        task.add_done_callback(lambda _: sock.close())

    async def _serve(self, sock: socket.socket) -> None:
        if not await self._has_token(sock):
            return
        self._connections.prove()
        transport = FdTransport((fd := sock.detach()), fd)
        calls = _Calls()
        connection = Connection(McpLines(transport), calls.handlers(), max_backlog=MAX_BACKLOG)
        try:
            tunnel = await self._tunnels.open(self._server_id, connection)
        except RpcError as error:
            _log.warning("could not connect the agent to an MCP server: %s", error)
            calls.failure = error
            await connection.run()
            return
        except BaseException:  # not handled: only closed, then raised again
            transport.close()
            raise
        calls.tunnel = tunnel
        self._open.add(tunnel)
        try:
            await connection.run()
        finally:
            self._open.discard(tunnel)
        # The client disconnected; if this endpoint closes instead, `aclose` notifies the owner.
        await tunnel.aclose()

    async def _has_token(self, sock: socket.socket) -> bool:
        """Whether the first line is the token; read bytewise to leave later lines unread."""
        loop = asyncio.get_running_loop()
        line = b""
        try:
            async with asyncio.timeout(INITIALIZE_TIMEOUT):
                while not line.endswith(b"\n") and len(line) <= len(self._token):
                    byte = await loop.sock_recv(sock, 1)
                    if not byte:
                        return False
                    line += byte
        except (OSError, TimeoutError):
            return False
        return is_same(self._token, line.removesuffix(b"\n"))


def stdio_declaration(
    declaration: Mapping[str, Any], port: int, token: str, *, is_typed: bool
) -> dict[str, Any]:
    """Convert an ACP server declaration to one that starts the shim with the port as argument.

    Args:
        declaration: declaration by the mod; other members stay.
        port: port of the bridge.
        token: first line sent by the shim; passed in `env`, which other users cannot read.
        is_typed: add `type: stdio`, which version 2 requires.
    """
    return {
        **({"type": "stdio"} if is_typed else {}),
        **without_bridge_keys(declaration),
        "command": sys.executable,
        # Isolated and without site-packages: the shim needs only the standard library.
        "args": ["-I", "-S", str(SHIM), str(port)],
        "env": [{"name": TOKEN_VARIABLE, "value": token}],
    }


class _Calls:
    """Forward requests and notifications of the agent's MCP client to the server's owner."""

    def __init__(self) -> None:
        self.tunnel: Tunnel | None = None
        self.failure: RpcError | None = None
        self._in_flight = InFlight()

    def handlers(self) -> Handlers:
        return Handlers(other_request=self._ask, other_notification=self._tell)

    async def _ask(self, request: Request) -> Any:
        if self.tunnel is None:
            raise self.failure or RpcError(-32603)
        asked = self.tunnel.request(request.method, _body(request.params))
        return await self._in_flight.run(request.id, asked)

    def _tell(self, method: str, params: Any) -> None:
        if self.tunnel is None:
            return
        self.tunnel.notify(method, _body(params))
        if method == CANCELLED:
            self._in_flight.cancel(params)


def _body(params: Any) -> Raw | UnsetType:
    return UNSET if params is None else Raw(encode_value(params))
