"""Runs our own server over HTTP on this machine, for those who have the token."""

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import uvicorn

from symposium.errors import SymposiumError
from symposium.mcp_server.guard import App, Guard
from symposium.mcp_server.notices import own_server, with_notices
from symposium.mcp_server.opening import at_work
from symposium.mcp_server.site import Site
from symposium.mcp_server.workplace import Workplace

ADDRESS: Final = "127.0.0.1"

TOKEN: Final = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""Variable with the token; without it a new token is created and printed on standard error."""

_SHORTEST: Final = 16
_GRACE: Final = 2
"""Seconds for open requests when the server ends."""


class ServingError(SymposiumError):
    """The server cannot be opened."""


@dataclass(frozen=True, slots=True)
class Door:
    """Address of a server.

    Attributes:
        token: required of clients.
    """

    listener: socket.socket
    token: str

    @property
    def url(self) -> str:
        """URL for clients."""
        return f"http://{ADDRESS}:{self.listener.getsockname()[1]}/mcp"


def open_door(port: int, environment: Mapping[str, str] | None = None) -> Door:
    """Take a port of this machine; 0 for any that is free.

    Raises:
        ServingError: it is taken, or the token that the environment names can be guessed.
    """
    token = token_of(environment)
    try:
        return Door(socket.create_server((ADDRESS, port)), token)
    except OSError as error:
        reason = f"cannot open port {port} of {ADDRESS}: {error.strerror}"
        hint = "choose another port with --port, or omit --port to use any free port"
        raise ServingError(reason, hint) from error


async def serve_http(site: Site, port: int, opened: Callable[[str, str], None]) -> None:
    """Serve any number of clients until cancelled.

    Args:
        site: where they work.
        port: where they come in; 0 for any that is free.
        opened: called with the URL and the token when the server accepts connections.

    Raises:
        ServingError: the port is taken, or the token can be guessed.
    """
    door = open_door(port, site.environment)

    async def serve(workplace: Workplace) -> None:
        server = own_server(workplace)
        opened(door.url, door.token)
        app = Guard(server.app(), door.token)
        await with_notices(server, workplace, lambda: run_app(app, door.listener))

    await at_work(site, serve)


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the command line, which cancels us."""
        yield


async def run_app(app: App, listener: socket.socket) -> None:
    """Run an ASGI application on a socket until cancelled; open requests get a moment to end."""
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
    """The token that the environment names, or a new one.

    Raises:
        ServingError: the one it names can be guessed.
    """
    named = (os.environ if environment is None else environment).get(TOKEN)
    if named is None:
        return secrets.token_urlsafe(32)
    if len(named) < _SHORTEST or not named.isascii() or not named.isprintable():
        reason = f"${TOKEN} has {len(named)} characters; it needs {_SHORTEST} printable ones"
        raise ServingError(reason, f"set a longer one, or unset ${TOKEN} to get a random token")
    return named
