"""One MCP server as its client sees it: what it offers, and how to use it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, cast

from msgspec import Struct, field

from peerwire.errors import PeerwireError

NEWEST: Final = "2025-11-25"
"""The revision of MCP that we ask for."""

REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", NEWEST)
"""The revisions that begin with `initialize`, oldest first; all of them can be spoken here."""


class McpError(PeerwireError):
    """An MCP server could not be reached, or said what no MCP server says."""


class Tool(Struct, frozen=True):
    """A tool as its server lists it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str | None
    schema: Mapping[str, Any]


class ToolResult(Struct, frozen=True):
    """What a tool said.

    Attributes:
        content: its blocks as they came.
        is_error: whether the tool failed; the content then says why.
        structured: the result as data, where the server gives it so.
    """

    content: Sequence[Mapping[str, Any]]
    is_error: bool = False
    structured: Any = None

    @property
    def text(self) -> str:
        """The text of its text blocks, one below the other."""
        texts = [block.get("text") for block in self.content if block.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))


class Wire(Protocol):
    """How a server is asked and told."""

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask, and wait for the result.

        Raises:
            PeerwireError: the answer is an error, or there will be none.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Tell; nothing comes back."""
        ...


class McpServer(Struct):
    """A server that has been greeted.

    Attributes:
        name: what the declaration calls it.
        wire: for methods that have no function here.
        greeting: its answer to `initialize`.
    """

    name: str
    wire: Wire
    greeting: Mapping[str, Any] = field(default_factory=dict[str, Any])

    async def greet(self) -> None:
        """Make the connection one on which tools can be used.

        Raises:
            PeerwireError: the server refused.
            McpError: its answer is none.
        """
        client = {"name": "peerwire", "version": "1"}
        params = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": client}
        self.greeting = self._object(await self.wire.request("initialize", params), "initialize")
        self.wire.notify("notifications/initialized")

    async def list_tools(self) -> list[Tool]:
        """All its tools, page by page.

        Raises:
            PeerwireError: the server refused.
            McpError: its answer is no list of tools.
        """
        tools: list[Tool] = []
        params: dict[str, Any] = {}
        while True:
            page = self._object(await self.wire.request("tools/list", params), "tools/list")
            tools += [self._tool(entry) for entry in page.get("tools") or ()]
            cursor = page.get("nextCursor")
            if cursor is None or cursor == params.get("cursor"):
                return tools
            params = {"cursor": cursor}

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Use a tool.

        Raises:
            RpcError: there is no such tool, or the server refused; a tool that fails says so in
                its result.
            McpError: its answer is no result of a tool.
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        answer = self._object(await self.wire.request("tools/call", params), "tools/call")
        blocks = cast("list[Any]", answer.get("content") or [])
        if not all(isinstance(block, Mapping) for block in blocks):
            raise McpError(f"{self.name} answered tools/call with content that is no block")
        return ToolResult(blocks, answer.get("isError") is True, answer.get("structuredContent"))

    def _tool(self, entry: Any) -> Tool:
        match entry:
            case {"name": str(name), **rest}:
                description = rest.get("description")
                schema: Any = rest.get("inputSchema")
                return Tool(
                    name,
                    description if isinstance(description, str) else None,
                    cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {},
                )
            case _:
                raise McpError(f"{self.name} lists a tool without a name")

    def _object(self, answer: Any, method: str) -> Mapping[str, Any]:
        if not isinstance(answer, Mapping):
            raise McpError(f"{self.name} answered {method} with what is no object")
        return cast("Mapping[str, Any]", answer)
