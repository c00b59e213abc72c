"""Run the server on standard streams, or over HTTP with a token."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, TypeAlias

import uvicorn

from localio.loopback import ADDRESS, checked_headers, has_token, is_local, new_token
from peerwire.jsonrpc.transport import Transport
from peerwire.transports.fd import stdio_transport
from symposium.documents.guidance import URI
from symposium.errors import SymposiumError
from symposium.mcp_server.line_streams import MAX_BYTES
from symposium.mcp_server.offering import ToolOffering
from symposium.mcp_server.server import SymposiumMcpServer
from symposium.mcp_server.server_context import ServerContext, Site
from symposium.mcp_server.startup import open_workplace


def own_server(workplace: ServerContext) -> SymposiumMcpServer:
    offering = ToolOffering(workplace, workplace.tools)
    of_us = version("symposium-host")
    return SymposiumMcpServer([offering], version=of_us, instructions=offering.instructions)


async def with_notices(
    server: SymposiumMcpServer, workplace: ServerContext, serve: Callable[[], Awaitable[None]]
) -> None:
    """Serve, and notify clients of changed guidance."""

    async def tell() -> None:
        async for change in workplace.library.changes():
            # By both names for subscriptions.
            uris = change.ids | {URI + id_ for id_ in change.ids}
            await server.tell(uris, is_list=change.is_list)

    async with asyncio.TaskGroup() as tasks:
        telling = tasks.create_task(tell())
        try:
            await serve()
        finally:
            server.close()
            telling.cancel()


async def serve_stdio(site: Site) -> None:
    """Serve the parent process until it closes standard input."""
    transport = stdio_transport(limit=MAX_BYTES)
    try:
        await open_workplace(site, lambda workplace: serve_lines(workplace, transport))
    finally:
        await transport.aclose()


async def serve_lines(workplace: ServerContext, transport: Transport) -> None:
    """Serve one client over lines; the caller closes the transport."""
    server = own_server(workplace)
    await with_notices(server, workplace, lambda: server.serve(transport))


Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_NO_SUCH_PATH: Final = b'{"error":"unknown path; the server is at /mcp"}'
_BODY: Final = b'{"error":"forbidden: send the token, from this machine"}'


class Guard:
    """ASGI middleware that rejects a request without the token, on every route and method."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward an allowed request; answer any other with 403."""
        match scope["type"]:
            case "lifespan":
                await self._app(scope, receive, send)
            case "http" if not self.allows(scope["headers"]):
                await _refuse(send, _FORBIDDEN, _BODY)
            case "http" if not _is_plain(scope):
                await _refuse(send, _NOT_FOUND, _NO_SUCH_PATH)
            case "http":
                await self._app(scope, receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1008})

    def allows(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request with these headers is allowed; a repeated header is not."""
        found = checked_headers(headers)
        return (
            found is not None
            and is_local(found.get(b"host", b""))
            and (b"origin" not in found or is_local(found[b"origin"], is_origin=True))
            and has_token(found, self._token)
        )


def _is_plain(scope: Scope) -> bool:
    """Whether the path has no percent-encoding: `%2fmcp` is not `/mcp`."""
    raw = scope.get("raw_path")
    return raw is None or raw.partition(b"?")[0] == str(scope["path"]).encode()


async def _refuse(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


TOKEN: Final = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""Variable with the token; without it a new token is created and printed on standard error."""

_SHORTEST: Final = 16
_GRACE: Final = 2
"""Seconds for open requests when the server ends."""


class ServingError(SymposiumError):
    """The server cannot be opened."""


@dataclass(frozen=True, slots=True)
class HttpListener:
    """Listening socket of a server, and the token that clients must send.

    Attributes:
        token: required of clients.
    """

    listener: socket.socket
    token: str

    @property
    def url(self) -> str:
        """URL of the MCP endpoint, with the actual port."""
        return f"http://{ADDRESS}:{self.listener.getsockname()[1]}/mcp"


def open_listener(port: int, environment: Mapping[str, str] | None = None) -> HttpListener:
    """Listen on a loopback port; 0 for any free port.

    Raises:
        ServingError: the port is in use, or the token of the environment is weak.
    """
    token = token_of(environment)
    try:
        return HttpListener(socket.create_server((ADDRESS, port)), token)
    except OSError as error:
        reason = f"cannot open port {port} of {ADDRESS}: {error.strerror}"
        hint = "choose another port with --port, or omit --port to use any free port"
        raise ServingError(reason, hint) from error


async def serve_http(site: Site, port: int, opened: Callable[[str, str], None]) -> None:
    """Serve any number of clients until canceled.

    Args:
        site: configuration of the server.
        port: port to listen on; 0 for any free port.
        opened: called with the URL and the token when the server accepts connections.

    Raises:
        ServingError: the port is in use, or the token is weak.
    """
    http = open_listener(port, site.environment)

    async def serve(workplace: ServerContext) -> None:
        server = own_server(workplace)
        opened(http.url, http.token)
        app = Guard(server.app(), http.token)
        await with_notices(server, workplace, lambda: run_app(app, http.listener))

    await open_workplace(site, serve)


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the command line, which cancels the server."""
        yield


async def run_app(app: App, listener: socket.socket) -> None:
    """Run an ASGI application on a socket until canceled; open requests get time to end."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Uvicorn(config)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await serving
            raise


def token_of(environment: Mapping[str, str] | None = None) -> str:
    """Return the token of the environment, or a new one.

    Raises:
        ServingError: the token of the environment is weak.
    """
    named = (os.environ if environment is None else environment).get(TOKEN)
    if named is None:
        return new_token()
    if len(named) < _SHORTEST or not named.isascii() or not named.isprintable():
        reason = f"${TOKEN} has {len(named)} characters; it needs {_SHORTEST} printable ones"
        raise ServingError(reason, f"set a longer one, or unset ${TOKEN} to get a random token")
    return named
