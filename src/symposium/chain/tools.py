"""Python functions as MCP tools, and the in-process MCP server of a mod.

Supports every MCP version with `initialize`, on any transport.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter, isawaitable
from typing import Any, Final, Protocol, TypeVar, cast, get_type_hints
from uuid import uuid4

import msgspec

from localio.errors import ExplainedError
from peerwire.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ErrorBoundary,
    RpcError,
)
from peerwire.jsonrpc.handlers import Peer
from peerwire.jsonrpc.values import encode_value
from peerwire.mcp.session import NEWEST, REVISIONS


class ToolContext(Protocol):
    """Context of a tool call; a tool function receives it by a parameter with this annotation.

    Attributes:
        server_id: server of the tool.
        connection_id: the caller's connection.
    """

    server_id: str
    connection_id: str

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request to the caller's MCP client, such as `elicitation/create`.

        Raises:
            RpcError: it returned an error or disconnected.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification to the caller's MCP client."""
        ...

    def progress(self, done: float, message: str) -> None:
        """Report progress if the caller requested it (MCP, "Progress")."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContent:
    """Tool result of explicit MCP content blocks."""

    blocks: list[dict[str, Any]]


_log = logging.getLogger(__name__)
_Arguments = TypeVar("_Arguments", bound=msgspec.Struct)
ToolFunction = Callable[..., Any] | Callable[..., Awaitable[Any]]


class Tool:
    """A function, callable with the arguments of `tools/call`.

    Attributes:
        name: name of the tool; default: the function's.
        description: docstring of the function.
        schema: JSON schema of the arguments.
    """

    def __init__(self, function: ToolFunction, *, name: str | None = None) -> None:
        self._function = function
        self.name = name or function.__name__
        self.description = inspect.getdoc(function) or ""
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
        self._context = next((each for each in parameters if hints.get(each) is ToolContext), None)
        fields = [
            _field(parameter, hints.get(each, Any))
            for each, parameter in parameters.items()
            if each != self._context
        ]
        self._arguments = msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True)
        self.schema = schema_of(self._arguments)

    def listed(self) -> dict[str, Any]:
        """Describe the tool as in the result of `tools/list`."""
        entry: dict[str, Any] = {"name": self.name, "inputSchema": self.schema}
        return entry | {"description": self.description} if self.description else entry

    async def call(self, arguments: object, context: ToolContext) -> dict[str, Any]:
        """Call the function; returns the result of `tools/call`, also for a failure."""
        try:
            given = read_arguments(arguments, self._arguments)
        except msgspec.ValidationError as error:
            return failure(f"{self.name}: {error}")
        values = msgspec.structs.asdict(given)
        if self._context is not None:
            values[self._context] = context
        with ErrorBoundary() as caught:
            result = self._function(**values)
            if isawaitable(result):
                result = await result
            return _outcome(result)
        if not isinstance(caught.error, ExplainedError | RpcError):
            _log.error("the tool %s failed", self.name, exc_info=caught.error)
        return failure(str(caught.error) or type(caught.error).__name__)


def failure(reason: str) -> dict[str, Any]:
    """Result of a failed tool."""
    return {"content": [{"type": "text", "text": reason}], "isError": True}


def _outcome(result: Any) -> dict[str, Any]:
    if isinstance(result, ToolContent):
        return {"content": result.blocks, "isError": False}
    text = encode_value(result).decode()
    outcome = {"content": [{"type": "text", "text": text}], "isError": False}
    value = msgspec.to_builtins(result)
    return outcome | {"structuredContent": value} if isinstance(value, Mapping) else outcome


def _field(parameter: Parameter, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    if parameter.kind in {
        Parameter.VAR_POSITIONAL,
        Parameter.VAR_KEYWORD,
        Parameter.POSITIONAL_ONLY,
    }:
        raise TypeError(f"tools are called with named arguments; {parameter} cannot be one")
    if parameter.default is Parameter.empty:
        return (parameter.name, hint)
    return (parameter.name, hint, parameter.default)


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON schema of a type, with the definitions of the types that it contains."""
    (reference,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema = components.pop(reference["$ref"].rpartition("/")[2])
    schema.pop("title", None)
    schema.pop("description", None)
    return schema | {"$defs": components} if components else schema


def read_arguments(arguments: object, kind: type[_Arguments]) -> _Arguments:
    """Check the arguments of `tools/call`; None means no arguments.

    Raises:
        msgspec.ValidationError: they do not match the schema.
    """
    return msgspec.convert({} if arguments is None else arguments, kind)


LIST_CHANGED: Final = "notifications/tools/list_changed"
PROGRESS: Final = "notifications/progress"


class ToolServer:
    """Named set of tools for any number of connections.

    Args:
        name: name for the agent.
        tools: functions or `Tool` objects.
        allow: visible and callable tools; None for all.
        deny: tools that are neither visible nor callable.

    Attributes:
        server_id: unique id of this object, the same in all its sessions.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[ToolFunction | Tool],
        *,
        allow: Collection[str] | None = None,
        deny: Collection[str] = (),
    ) -> None:
        self.name = name
        self.server_id = f"mcp-server:{uuid4()}"
        made = (tool if isinstance(tool, Tool) else Tool(tool) for tool in tools)
        self._tools = {tool.name: tool for tool in made}
        self._connections: dict[str, ToolConnection] = {}
        self._allow = None if allow is None else set(self._known(allow))
        self._deny = set(self._known(deny))

    def enable(self, *names: str) -> None:
        """Make tools visible and callable; connected clients are notified.

        Raises:
            LookupError: a tool does not exist.
        """
        self._deny -= set(self._known(names))
        if self._allow is not None:
            self._allow |= set(names)
        self._notify_change()

    def disable(self, *names: str) -> None:
        """Hide and disable tools; connected clients are notified.

        Raises:
            LookupError: a tool does not exist.
        """
        self._deny |= set(self._known(names))
        self._notify_change()

    @property
    def tools(self) -> list[Tool]:
        return [tool for tool in self._tools.values() if self._is_shown(tool.name)]

    def tool(self, name: str) -> Tool:
        """The tool with this name.

        Raises:
            RpcError: it does not exist or is hidden.
        """
        if not self._is_shown(name):
            data = {"tool": name, "server": self.name}
            raise RpcError(INVALID_PARAMS, data, message=f"Tool not found: {name}")
        return self._tools[name]

    def declaration(self) -> dict[str, Any]:
        """Describe the server as in `mcpServers` of `session/new`."""
        return {"type": "acp", "name": self.name, "serverId": self.server_id}

    def connect(self, caller: Peer) -> "ToolConnection":
        """Open a connection with its own state."""
        connection_id = f"mcp-over-acp-connection:{uuid4()}"
        connection = ToolConnection(self, connection_id, caller)
        self._connections[connection_id] = connection
        return connection

    def disconnect(self, connection_id: str) -> None:
        """Close a connection and cancel its calls."""
        connection = self._connections.pop(connection_id, None)
        if connection is not None:
            connection.end()

    def _is_shown(self, name: str) -> bool:
        is_allowed = self._allow is None or name in self._allow
        return name in self._tools and is_allowed and name not in self._deny

    def _known(self, names: Collection[str]) -> Collection[str]:
        unknown = sorted(set(names) - set(self._tools))
        if unknown:
            known = ", ".join(self._tools)
            raise LookupError(f"{self.name} has no tool {', '.join(unknown)}; it has {known}")
        return names

    def _notify_change(self) -> None:
        for connection in self._connections.values():
            if connection.is_initialized:
                connection.notify(LIST_CHANGED)


class ToolConnection:
    """One client's connection to a tool server.

    Attributes:
        server_id: id of the server.
        connection_id: `mcp-over-acp-connection:` and a UUID.
        revision: negotiated MCP version.
    """

    def __init__(self, server: ToolServer, connection_id: str, caller: Peer) -> None:
        self._server = server
        self._caller = caller
        self.server_id = server.server_id
        self.connection_id = connection_id
        self.revision = ""
        self._calls: set[asyncio.Timeout] = set()

    def end(self) -> None:
        """Cancel the open calls: no one waits for them."""
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            call.reschedule(now)

    @property
    def is_initialized(self) -> bool:
        """Whether the client sent `initialize`."""
        return bool(self.revision)

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request to the client and wait for the result."""
        return await self._caller.request(method, params)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification to the client."""
        self._caller.notify(method, params)

    async def answer(self, method: str, params: object) -> dict[str, Any]:
        """Handle one MCP request and return its result.

        Raises:
            RpcError: it is rejected.
        """
        match method:
            case "initialize":
                return self._initialize(_members(params))
            case "ping":
                return {}
            case "tools/list":
                _members(params)
                return {"tools": [tool.listed() for tool in self._server.tools]}
            case "tools/call":
                return await self._call(_members(params))
            case _:
                raise RpcError(METHOD_NOT_FOUND, method)

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        self.revision = asked if asked in REVISIONS else NEWEST
        return {
            "protocolVersion": self.revision,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": self._server.name, "version": "1"},
        }

    async def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        name = params.get("name")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "tools/call needs the name of a tool")
        call = _Call(self, _members(params.get("_meta")).get("progressToken"))
        tool = self._server.tool(name)
        # No deadline: `end` sets one when the connection ends.
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._calls.add(limit)
                return await tool.call(params.get("arguments"), call)
        except TimeoutError as error:
            raise RpcError(INTERNAL_ERROR, {"reason": "connection ended"}) from error
        finally:
            self._calls.discard(limit)


class _Call:
    """Context of one tool call: its connection and its progress token."""

    def __init__(self, connection: ToolConnection, token: object) -> None:
        self._connection = connection
        self._token = token
        self.server_id = connection.server_id
        self.connection_id = connection.connection_id

    async def request(self, method: str, params: Any = None) -> Any:
        return await self._connection.request(method, params)

    def notify(self, method: str, params: Any = None) -> None:
        self._connection.notify(method, params)

    def progress(self, done: float, message: str) -> None:
        if isinstance(self._token, str | int):
            params = {"progressToken": self._token, "progress": done, "message": message}
            self._connection.notify(PROGRESS, params)


def _members(params: object) -> Mapping[str, Any]:
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise RpcError(INVALID_PARAMS, "params must be an object")
    return cast("Mapping[str, Any]", params)
