"""List and call tools of a session's MCP servers; each server runs for one command."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from peerwire.errors import PeerwireError, RpcError
from peerwire.mcp.client import open_server
from peerwire.mcp.session import McpClientSession
from symposium.agents.eliza.commands import (
    ListToolsCommand,
    UseTool,
    render_error,
    render_result,
    render_tools,
)


class ElizaReport(Struct, frozen=True):
    """Result of a command, as text for the user."""

    text: str
    has_failed: bool = False


async def carry_out(
    command: ListToolsCommand | UseTool, servers: Sequence[Mapping[str, Any]], directory: str
) -> ElizaReport:
    """Run a command and report its result or its failure.

    Args:
        command: the command.
        servers: the session's MCP servers, as declared by the client.
        directory: the session's working directory; stdio servers start there.
    """
    declaration = next((each for each in servers if each.get("name") == command.server), None)
    if declaration is None:
        names = [str(each.get("name")) for each in servers]
        known = (
            f"this session has {', '.join(names)}" if names else "this session has no MCP servers"
        )
        return _failure(f"no MCP server is called {command.server}; {known}")
    try:
        async with open_server(declaration, cwd=directory) as server:
            match command:
                case ListToolsCommand():
                    tools = await server.list_tools()
                    return ElizaReport(
                        render_tools((tool.name, tool.description) for tool in tools)
                    )
                case UseTool():
                    return await _use(command, server)
    except PeerwireError as error:
        return _failure(f"{command.server}: {error}")


async def _use(command: UseTool, server: McpClientSession) -> ElizaReport:
    try:
        result = await server.call_tool(command.tool, command.arguments)
    except RpcError as error:
        names = [tool.name for tool in await server.list_tools()]
        if command.tool in names:
            return _failure(f"{command.server}::{command.tool}: {error}")
        return _failure(f"{command.server} has no tool {command.tool}; it has {_listed(names)}")
    text = "\n".join(_shown(block) for block in result.content)
    if result.is_error:
        return _failure(f"{command.server}::{command.tool}: {text}")
    return ElizaReport(render_result(text))


def _failure(reason: str) -> ElizaReport:
    return ElizaReport(render_error(reason), has_failed=True)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _shown(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return f"[{block.get('type')}]"
