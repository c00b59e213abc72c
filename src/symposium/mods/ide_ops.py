"""The mod that gives the agent what an editor knows of the code, as tools."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Peer
from symposium.chain.capabilities import IDE_OPERATIONS, as_object
from symposium.chain.mod import ComponentSpec, Needs
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer
from symposium.code.operations import (
    DIAGNOSTICS,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    GET_SELECTION,
    HOVER,
    RESOLVE_SYMBOL,
)

SERVER: Final = "ide"
"""What the agent knows the tools by."""


class OperationError(Exception):
    """An operation has failed: its text is what the model reads."""


class IdeTools:
    """The tools of one session; each is one operation.

    Attributes:
        session_id: of the session, once it has one.
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
        """The MCP server of these tools."""
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
            raise OperationError("the session is not open yet; call this again in a moment")
        try:
            return await self._editor.request(method, {"sessionId": self.session_id, **params})
        except RpcError as error:
            data = as_object(error.data)
            told = [data.get("detail") or str(error), data.get("hint")]
            raise OperationError("; ".join(str(each) for each in told if each)) from error


class IdeOps(ToolMod):
    """Declares the tools to each session, and asks the editor's side for what they tell."""

    def __init__(self) -> None:
        super().__init__()
        self._tools: dict[str, IdeTools] = {}

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """The tools of this session."""
        known = params.get("sessionId")
        tools = IdeTools(self.client, known if isinstance(known, str) else None)
        server = tools.server()
        self._tools[server.server_id] = tools
        return [server]

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        """Let its tools name the session."""
        for server in servers:
            self._tools[server.server_id].session_id = session_id

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        """Forget its tools."""
        for server in servers:
            self._tools.pop(server.server_id, None)


def _place(path: str, line: int, column: int) -> dict[str, Any]:
    return {"path": path, "line": line, "column": column}


spec = ComponentSpec(
    name="ide-ops",
    summary="Gives the agent an MCP server called `ide`: definitions, references, diagnostics, …",
    make=IdeOps,
    tokens=420,
    needs=Needs(
        requires=(IDE_OPERATIONS,), enriches={IDE_OPERATIONS: "mcp_tools"}, is_optional=True
    ),
)
