"""Our own server, and the notices it gives of guidance that changes while it serves."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version

from symposium.documents.guidance import URI
from symposium.mcp_server.offering import Offering
from symposium.mcp_server.server import McpServer
from symposium.mcp_server.workplace import Workplace


def own_server(workplace: Workplace) -> McpServer:
    """Our own server, for one workplace."""
    offering = Offering(workplace, workplace.tools)
    of_us = version("symposium-host")
    return McpServer([offering], version=of_us, instructions=offering.instructions)


async def with_notices(
    server: McpServer, workplace: Workplace, serve: Callable[[], Awaitable[None]]
) -> None:
    """Serve, and tell clients of changed guidance meanwhile."""

    async def tell() -> None:
        async for change in workplace.library.changes():
            # By both names that a client may have subscribed to.
            uris = change.ids | {URI + id_ for id_ in change.ids}
            await server.tell(uris, is_list=change.is_list)

    async with asyncio.TaskGroup() as tasks:
        telling = tasks.create_task(tell())
        try:
            await serve()
        finally:
            server.close()
            telling.cancel()
