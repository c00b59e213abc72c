"""Runs our own server over standard input and output, for one agent."""

from peerwire.jsonrpc.transport import Transport
from peerwire.transports.fd import stdio_transport
from symposium.mcp_server.lines import MOST_BYTES
from symposium.mcp_server.notices import own_server, with_notices
from symposium.mcp_server.opening import at_work
from symposium.mcp_server.site import Site
from symposium.mcp_server.workplace import Workplace


async def serve_stdio(site: Site) -> None:
    """Serve the agent that has started us, until it closes our input."""
    transport = stdio_transport(limit=MOST_BYTES)
    try:
        await at_work(site, lambda workplace: serve_lines(workplace, transport))
    finally:
        await transport.aclose()


async def serve_lines(workplace: Workplace, transport: Transport) -> None:
    """Serve one client over any lines; the transport stays its owner's to close."""
    server = own_server(workplace)
    await with_notices(server, workplace, lambda: server.serve(transport))
