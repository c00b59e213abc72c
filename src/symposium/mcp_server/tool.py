"""Tools and parts of a server.

Values are JSON in the form of MCP. A part returns None for an unknown name; then the next part is
asked. This module does not depend on the SDK.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

from localio.errors import ExplainedError
from peerwire.errors import INVALID_PARAMS, ErrorBoundary, RpcError
from symposium.chain.tools import read_arguments, schema_of
from symposium.mcp_server.server_context import ServerContext

Topic: TypeAlias = Literal[
    "code", "walkthroughs", "taskspaces", "reviews", "references", "packages"
]
"""Topic of a tool; the instructions group by it."""


News: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
"""Reports the progress of a call: done, total, message."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """Call of a tool by a client, with its context.

    Attributes:
        workplace: context of the server.
        tell: sends progress to the client, if requested.
    """

    workplace: ServerContext
    tell: News


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Result of a tool.

    Attributes:
        text: for the agent to read.
        value: the same for programs; of the tool's result type, if it has one.
        is_error: whether the call has failed.
    """

    text: str
    value: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints for a client that decides whether an agent may call a tool.

    Attributes:
        title: the name that the user sees.
        reads_only: changes nothing.
        destroys: may delete data.
        repeats_well: a second equal call has no further effect.
        reaches_out: uses the network.
    """

    title: str
    reads_only: bool = False
    destroys: bool = False
    repeats_well: bool = False
    reaches_out: bool = False


_Params_contra = TypeVar("_Params_contra", bound=Struct, contravariant=True)


class ToolFunction(Protocol[_Params_contra]):
    """Function that is a tool: it takes the arguments of a call, and the call."""

    __name__: str

    def __call__(
        self, params: _Params_contra, call: ToolInvocation, /
    ) -> Awaitable[ToolAnswer]: ...


@dataclass(frozen=True, slots=True)
class ServedTool:
    """Tool as the server offers it.

    Attributes:
        name: name of the function.
        description: docstring of the function.
        topic: topic of the tool.
        params: the type of its arguments.
        run: the function.
        result: the type of `ToolAnswer.value`; None for an answer that is text only.
    """

    name: str
    description: str
    topic: Topic
    hints: Hints
    params: type[Struct]
    run: ToolFunction[Any]
    result: type[Struct] | None = None

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.description.partition("\n")[0]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return schema_of(self.params)

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of its structured result; None for an answer that is text only."""
        return None if self.result is None else schema_of(self.result)

    async def call(self, arguments: Mapping[str, Any] | None, call: ToolInvocation) -> ToolAnswer:
        """Run the tool; the answer reports an error with its fix."""
        try:
            params = read_arguments(dict(arguments or {}), self.params)
        except msgspec.ValidationError as error:
            return ToolAnswer(f"{self.name}: {error}. {_form(self.params)}", is_error=True)
        with ErrorBoundary() as caught:
            return await self.run(params, call)
        if not isinstance(caught.error, ExplainedError):
            _log.error("the tool %s failed", self.name, exc_info=caught.error)
        return failure(self.name, caught.error)


def tool(
    topic: Topic, hints: Hints, *, result: type[Struct] | None = None
) -> Callable[[ToolFunction[_Params_contra]], ServedTool]:
    """Make a tool from a function, its docstring, and its first parameter's type.

    Args:
        topic: topic of the tool.
        hints: hints for clients.
        result: type of the structured result.
    """

    def made(function: ToolFunction[_Params_contra]) -> ServedTool:
        first = next(iter(inspect.signature(function).parameters))
        params = get_type_hints(function)[first]
        documentation = inspect.getdoc(function) or ""
        return ServedTool(function.__name__, documentation, topic, hints, params, function, result)

    return made


def failure(name: str, error: BaseException | None) -> ToolAnswer:
    """The answer for an error: what failed, and what to do."""
    match error:
        case ExplainedError():
            text = f"{error.message}\n{error.hint}".strip()
            return ToolAnswer(f"{name}: {text}", is_error=True)
        case _:
            kind = type(error).__name__
            text = f"{name}: {error or kind} ({kind}; internal error in Symposium)"
            return ToolAnswer(text, is_error=True)


NO_PARAMS: Final = "The tool takes no arguments."


def _form(params: type[Struct]) -> str:
    fields = msgspec.structs.fields(params)
    if not fields:
        return NO_PARAMS
    names = [field.encode_name + ("" if field.required else "?") for field in fields]
    return f"Arguments: {', '.join(names)} (? means optional)."


Json: TypeAlias = dict[str, Any]

RESOURCE_NOT_FOUND: Final = -32002
"""Error code until revision 2025-11-25; since 2026-07-28, invalid params."""

STATELESS: Final = ("2026-07-28",)
"""Revisions without `initialize`."""


class ToolCaller(Protocol):
    """The client of one request.

    Attributes:
        revision: negotiated revision of MCP.
        news: reports progress of the request, if the client wants it.
        context: the SDK's context of the request; only for code that uses the SDK.
    """

    @property
    def revision(self) -> str: ...
    @property
    def news(self) -> News: ...
    @property
    def context(self) -> Any: ...


class ToolPart(Protocol):
    """One part of a server's tools, resources, and prompts."""

    def tools(self) -> Sequence[Json]:
        """Its tools, as `tools/list` has them."""
        ...

    async def call_tool(
        self, name: str, params: Mapping[str, Any], caller: ToolCaller
    ) -> Json | None:
        """The result of `tools/call`; None for a tool of another part.

        Raises:
            RpcError: the call is refused.
        """
        ...

    def resources(self) -> Sequence[Json]:
        """Its resources, as `resources/list` has them."""
        ...

    def templates(self) -> Sequence[Json]:
        """Its templates, as `resources/templates/list` has them."""
        ...

    async def read(self, uri: str, caller: ToolCaller) -> Json | None:
        """The result of `resources/read`; None for a resource of another part."""
        ...

    def prompts(self) -> Sequence[Json]:
        """Its prompts, as `prompts/list` has them."""
        ...

    async def prompt(self, name: str, params: Mapping[str, Any], caller: ToolCaller) -> Json | None:
        """The result of `prompts/get`; None for a prompt of another part.

        Raises:
            RpcError: the prompt is refused.
        """
        ...

    def complete(self, ref: Mapping[str, Any], argument: str, begun: str) -> Sequence[str] | None:
        """Completions of an argument; None for an argument of another part."""
        ...


def unknown(what: str, name: str, known: Sequence[str]) -> RpcError:
    message = f"Unknown {what}: {name[:200]}"
    return RpcError(INVALID_PARAMS, {what: name[:200], "known": sorted(known)}, message=message)


def not_found(uri: str, revision: str) -> RpcError:
    """The error for a missing resource, with the code of a revision."""
    code = INVALID_PARAMS if revision in STATELESS else RESOURCE_NOT_FOUND
    return RpcError(code, {"uri": uri[:2000]}, message=f"Resource not found: {uri[:200]}")
