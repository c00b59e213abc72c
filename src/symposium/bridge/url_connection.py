"""Connection to an MCP server at a URL; imported when the first one opens."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from peerwire.errors import INTERNAL_ERROR, PeerwireError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Peer, Request
from peerwire.jsonrpc.values import as_object
from peerwire.mcp.streamable_http import HttpTransport


class UrlConnection:
    """Open connection to a server at a URL."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.notify = connection.notify
        self.close = connection.close

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result.

        Raises:
            RpcError: the server returned an error or is unreachable.
        """
        try:
            return await self._connection.request(method, params)
        except RpcError:
            raise
        except PeerwireError as error:
            data = {"reason": "server_gone", "fault": str(error)}
            raise RpcError(INTERNAL_ERROR, data) from error


def connected(server: Mapping[str, Any], agent: Peer, tasks: asyncio.TaskGroup) -> UrlConnection:
    """Connect to the server of a declaration.

    Raises:
        RpcError: the URL is invalid.
    """

    async def ask(request: Request) -> Any:
        return await agent.request(request.method, request.params)

    try:
        transport = HttpTransport(str(server["url"]), _headers(server), tasks)
    except PeerwireError as error:
        raise RpcError(INTERNAL_ERROR, {"reason": "bad_url", "fault": str(error)}) from error
    connection = Connection(transport, Handlers(other_request=ask, other_notification=agent.notify))
    tasks.create_task(connection.run())
    return UrlConnection(connection)


def _headers(server: Mapping[str, Any]) -> list[tuple[str, str]]:
    listed: Any = server.get("headers") or ()
    entries = [as_object(entry) for entry in cast("list[Any]", listed)]
    return [(str(entry.get("name")), str(entry.get("value"))) for entry in entries]
