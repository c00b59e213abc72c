"""The scripted test agent on the wire."""

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.jsonrpc.transport import Transport
from symposium.conductor.agent_spec import AgentSpec


async def serve_testy(transport: Transport) -> None:
    """Be the test agent to one client until it ends the connection."""
    await Connection(transport, Handlers()).run()


spec = AgentSpec(
    name="testy",
    summary="Does what a prompt in JSON tells it, to try out clients and mods.",
    serve=serve_testy,
)
