"""A plain function as an MCP tool: schema from its annotations, description from its docstring."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, isawaitable
from typing import Any, Protocol, get_type_hints

import msgspec

from peerwire.errors import Boundary
from peerwire.jsonrpc.values import encode_value


class ToolContext(Protocol):
    """Who calls a tool; a tool function asks for it by annotating a parameter with this class.

    Attributes:
        server_id: of the server that the tool belongs to.
        connection_id: of the caller's connection to it.
    """

    server_id: str
    connection_id: str

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask the caller's MCP client, `elicitation/create` say, and wait for the result.

        Raises:
            RpcError: it refused, or has gone.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the caller's MCP client."""
        ...

    def progress(self, done: float, message: str) -> None:
        """Tell how far the call is, if its caller wants to know (MCP, "Progress")."""
        ...


@dataclass(frozen=True, slots=True)
class Content:
    """Returned by a tool that says its content block by block, as MCP has them."""

    blocks: list[dict[str, Any]]


ToolFunction = Callable[..., Any] | Callable[..., Awaitable[Any]]


class Tool:
    """One function, callable with the arguments of `tools/call`.

    Attributes:
        name: the function's, unless told otherwise.
        description: the function's docstring.
        schema: the JSON schema of its arguments.
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
        self.schema = _schema(self._arguments)

    def listed(self) -> dict[str, Any]:
        """Its entry in `tools/list`."""
        entry: dict[str, Any] = {"name": self.name, "inputSchema": self.schema}
        return entry | {"description": self.description} if self.description else entry

    async def call(self, arguments: object, context: ToolContext) -> dict[str, Any]:
        """Call the function: the result of `tools/call`, which also tells of its failure."""
        try:
            given = msgspec.convert({} if arguments is None else arguments, self._arguments)
        except msgspec.ValidationError as error:
            return failure(f"{self.name}: {error}")
        values = msgspec.structs.asdict(given)
        if self._context is not None:
            values[self._context] = context
        with Boundary() as caught:
            result = self._function(**values)
            if isawaitable(result):
                result = await result
            return _outcome(result)
        return failure(str(caught.error) or type(caught.error).__name__)


def failure(reason: str) -> dict[str, Any]:
    """The result of a tool that has failed."""
    return {"content": [{"type": "text", "text": reason}], "isError": True}


def _outcome(result: Any) -> dict[str, Any]:
    if isinstance(result, Content):
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
        raise TypeError(f"a tool is called by name; {parameter} cannot be given so")
    if parameter.default is Parameter.empty:
        return (parameter.name, hint)
    return (parameter.name, hint, parameter.default)


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    (reference,), components = msgspec.json.schema_components(
        [arguments], ref_template="#/$defs/{name}"
    )
    schema = components.pop(reference["$ref"].rpartition("/")[2])
    schema.pop("title", None)
    return schema | {"$defs": components} if components else schema
