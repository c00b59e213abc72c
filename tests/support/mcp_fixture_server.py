"""Symposium's MCP server with the fixtures of the conformance suite, as a program.

python mcp_fixture_server.py stdio
python mcp_fixture_server.py http        prints the URL, and serves until it is terminated
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from tests.support.mcp_fixture_part import FixturePart

from peerwire.transports.fd import stdio_transport
from symposium.bus.client import ClientSettings
from symposium.bus.daemon_start import dial_running
from symposium.mcp_server.offering import ToolOffering
from symposium.mcp_server.server import SymposiumMcpServer
from symposium.mcp_server.server_context import ServerContext, Site
from symposium.mcp_server.startup import open_workplace
from symposium.mcp_server.transports import (
    App,
    Guard,
    Receive,
    Scope,
    Send,
    open_listener,
    run_app,
    with_notices,
)


class Events(EventStore):
    """Sent events, for a client that reconnects."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, types.JSONRPCMessage | None]] = []

    async def store_event(
        self, stream_id: StreamId, message: types.JSONRPCMessage | None
    ) -> EventId:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        last = int(last_event_id)
        stream, _ = self._events[last - 1]
        for number, (of, message) in enumerate(self._events[last:], last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


class WithToken:
    """Adds the token for the suite, which cannot send headers."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            shown = (b"authorization", f"Bearer {self._token}".encode())
            scope = {**scope, "headers": [*scope["headers"], shown]}
        await self._app(scope, receive, send)


def fixture_server(workplace: ServerContext) -> SymposiumMcpServer:
    """Return the MCP server with one more part."""
    offering, fixture = ToolOffering(workplace), FixturePart()
    server = SymposiumMcpServer(
        [offering, fixture], version="0", instructions=offering.instructions
    )
    fixture.server = server

    async def level(context: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        del context, params
        return types.EmptyResult()

    server.sdk.add_request_handler("logging/setLevel", types.SetLevelRequestParams, level)
    return server


async def serve(workplace: ServerContext, transport: str) -> None:
    server = fixture_server(workplace)
    if transport == "stdio":
        lines = stdio_transport()
        try:
            await with_notices(server, workplace, lambda: server.serve(lines))
        finally:
            await lines.aclose()
        return
    http = open_listener(0)
    app = server.app(event_store=Events(), retry=100)
    print(http.url, flush=True)  # noqa: T201 - the parent process reads it
    guarded = WithToken(Guard(app, http.token), http.token)
    await with_notices(server, workplace, lambda: run_app(guarded, http.listener))


async def main(transport: str) -> None:
    site = Site(Path.cwd(), bus=ClientSettings(dial=dial_running))
    await open_workplace(site, lambda workplace: serve(workplace, transport))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
