"""Mod with tools for IDE operations: symbols, references, diagnostics, selection."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Peer
from peerwire.jsonrpc.values import as_object
from symposium.chain.capabilities import IDE_OPERATIONS
from symposium.chain.mod import ComponentSpec, Needs
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer
from symposium.code.ide_operations import (
    DIAGNOSTICS,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    GET_SELECTION,
    HOVER,
    RESOLVE_SYMBOL,
)
from symposium.errors import SymposiumError

SERVER: Final = "ide"
"""Name of the MCP server that the agent sees."""


class OperationError(SymposiumError):
    """An operation failed; the model reads the message."""


class IdeTools:
    """The tools of one session; each is one operation.

    Attributes:
        session_id: id of the session; None until it is open.
    """

    def __init__(self, editor: Peer, session_id: str | None) -> None:
        self._editor = editor
        self.session_id = session_id

    async def find_symbols(self, name: str) -> Any:
        """Find functions, classes, and other symbols of the project by name."""
        return await self._ask(RESOLVE_SYMBOL, {"name": name})

    async def find_definitions(self, path: str, line: int, column: int) -> Any:
        """Find the definition of the symbol at a line and column of a file, counted from 1."""
        return await self._ask(FIND_DEFINITIONS, _place(path, line, column))

    async def find_references(self, path: str, line: int, column: int) -> Any:
        """Find every use of the symbol at a line and column of a file, counted from 1."""
        return await self._ask(FIND_REFERENCES, _place(path, line, column))

    async def hover(self, path: str, line: int, column: int) -> Any:
        """Get type and documentation of the symbol at a line and column, counted from 1."""
        return await self._ask(HOVER, _place(path, line, column))

    async def diagnostics(self, path: str) -> Any:
        """List errors and warnings of a file on disk."""
        return await self._ask(DIAGNOSTICS, {"path": path})

    async def get_selection(self) -> Any:
        """Get the text that the user has selected in the editor."""
        return await self._ask(GET_SELECTION, {})

    def server(self) -> ToolServer:
        """Create the MCP server of these tools."""
        return ToolServer(
            SERVER,
            [
                self.find_symbols,
                self.find_definitions,
                self.find_references,
                self.hover,
                self.diagnostics,
                self.get_selection,
            ],
        )

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        if self.session_id is None:
            raise OperationError("the session is not open yet", "call this again in a moment")
        try:
            return await self._editor.request(method, {"sessionId": self.session_id, **params})
        except RpcError as error:
            data = as_object(error.data)
            detail, hint = data.get("detail") or error, data.get("hint") or ""
            raise OperationError(str(detail), str(hint)) from error


class IdeOps(ToolMod):
    """Add the tools to each session, and forward their requests to the editor's side."""

    def __init__(self) -> None:
        super().__init__()
        self._tools: dict[str, IdeTools] = {}

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Create the tools of this session."""
        known = params.get("sessionId")
        tools = IdeTools(self.client, known if isinstance(known, str) else None)
        server = tools.server()
        self._tools[server.server_id] = tools
        return [server]

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        """Set the session id of the tools."""
        for server in servers:
            self._tools[server.server_id].session_id = session_id

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        """Remove the tools of the session."""
        for server in servers:
            self._tools.pop(server.server_id, None)


def _place(path: str, line: int, column: int) -> dict[str, Any]:
    return {"path": path, "line": line, "column": column}


spec = ComponentSpec(
    name="ide-ops",
    summary="Adds the MCP server `ide`: definitions, references, diagnostics, and more.",
    make=IdeOps,
    tokens=420,
    needs=Needs(
        requires=(IDE_OPERATIONS,), enriches={IDE_OPERATIONS: "mcp_tools"}, is_optional=True
    ),
)
