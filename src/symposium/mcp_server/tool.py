"""A tool of the MCP server: a function of typed arguments, and its description."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

from localio.errors import ExplainedError
from peerwire.errors import Boundary
from symposium.mcp_server.workplace import Workplace

Topic: TypeAlias = Literal[
    "code", "walkthroughs", "taskspaces", "reviews", "references", "packages"
]
"""What a tool is about; the instructions group by it."""


class News(Protocol):
    """Receives the progress of a call."""

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        """Report progress."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    Attributes:
        workplace: where the agent works, and whom a tool can ask.
        tell: tells the client how far the call is, if it wants to know.
    """

    workplace: Workplace
    tell: News


@dataclass(frozen=True, slots=True)
class Answer:
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


_Params = TypeVar("_Params", bound=Struct)
ToolFunction: TypeAlias = Callable[[_Params, Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: the function's.
        description: the function's docstring.
        topic: what it is about.
        params: the type of its arguments.
        run: the function.
        result: the type of `Answer.value`; None for an answer that is text only.
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

    async def call(self, arguments: Mapping[str, Any] | None, call: Call) -> Answer:
        """Run the tool; the answer reports an error with its fix."""
        try:
            params = msgspec.convert(dict(arguments or {}), self.params)
        except msgspec.ValidationError as error:
            return Answer(f"{self.name}: {error}. {_form(self.params)}", is_error=True)
        with Boundary() as caught:
            return await self.run(params, call)
        return failure(self.name, caught.error)


def tool(
    topic: Topic, hints: Hints, *, result: type[Struct] | None = None
) -> Callable[[ToolFunction[_Params]], Tool]:
    """Make a function a tool; its name, its docstring and its first parameter's type say the rest.

    Args:
        topic: what it is about.
        hints: what a client may want to know.
        result: the type of its structured result.
    """

    def made(function: ToolFunction[_Params]) -> Tool:
        first = next(iter(inspect.signature(function).parameters))
        params = get_type_hints(function)[first]
        name = function.__name__  # pyright: ignore[reportAttributeAccessIssue]  a function has one
        told = inspect.getdoc(function) or ""
        return Tool(name, told, topic, hints, params, function, result)

    return made


def failure(name: str, error: BaseException | None) -> Answer:
    """The answer for an error: what failed, and what to do."""
    match error:
        case ExplainedError():
            text = f"{error.message}\n{error.hint}".strip()
            return Answer(f"{name}: {text}", is_error=True)
        case _:
            kind = type(error).__name__
            text = f"{name}: {error or kind} ({kind}; internal error in Symposium)"
            return Answer(text, is_error=True)


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON schema of a type, whole: an object with all it refers to."""
    (reference,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema = components.pop(reference["$ref"].rpartition("/")[2])
    schema.pop("title", None)
    schema.pop("description", None)
    return schema | {"$defs": components} if components else schema


NO_PARAMS: Final = "The tool takes no arguments."


def _form(params: type[Struct]) -> str:
    fields = msgspec.structs.fields(params)
    if not fields:
        return NO_PARAMS
    names = [field.encode_name + ("" if field.required else "?") for field in fields]
    return f"Arguments: {', '.join(names)} (? means optional)."
