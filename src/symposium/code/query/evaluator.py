"""Evaluate programs of Dialect, the language of `ide` tool calls."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from localio.text import near_names
from symposium.code.query.file_functions import (
    Action,
    Comment,
    FindFiles,
    GitDiff,
    Lines,
    Search,
    SearchFiles,
)
from symposium.code.query.functions import (
    DialectError,
    DialectWorkspace,
    Function,
    Hint,
    IdePort,
    Scope,
    by_name,
    name_of,
)
from symposium.code.query.parser import Array, DialectCall, Expression, Literal, Object, parse
from symposium.code.query.symbol_functions import (
    Callers,
    DefinitionAt,
    Diagnostics,
    FindDefinitions,
    FindReferences,
    GetSymbolInfo,
)

FUNCTIONS: Final[Sequence[type[Function]]] = (
    *(FindDefinitions, FindReferences, Callers, GetSymbolInfo, DefinitionAt, Diagnostics),
    *(Search, SearchFiles, FindFiles, Lines),
    *(GitDiff, Comment, Action),
)
"""All functions, in the order of the documentation."""

EVALUATION_TIMEOUT: Final = 90.0
"""Maximum seconds for a program; a language server may first have to read the project."""

MAX_CALLS: Final = 100
"""Maximum number of calls in a program."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of a program.

    Attributes:
        value: result as JSON.
        hints: advice for the program's author.
    """

    value: Any
    hints: Sequence[Hint]


def new_id() -> str:
    """A new unique id."""
    return str(uuid.uuid4())


async def run(
    program: str,
    port: IdePort,
    workspace: DialectWorkspace,
    *,
    functions: Sequence[type[Function]] = FUNCTIONS,
) -> Evaluation:
    """Evaluate a program.

    Args:
        program: one expression.
        port: IDE operations.
        workspace: base of relative paths.
        functions: available functions.

    Raises:
        DialectSyntaxError: the syntax is invalid.
        ExplainedError: a call is invalid or failed.
    """
    expression = parse(program)
    scope = Scope(workspace, port, new_id)
    running = _Running(scope, by_name(functions))
    try:
        async with asyncio.timeout(EVALUATION_TIMEOUT):
            value = await running.value(expression)
    except TimeoutError as error:
        message = f"the program timed out after {EVALUATION_TIMEOUT:g} s"
        raise DialectError(message, "request less at once") from error
    return Evaluation(value, scope.hints)


class _Running:
    """Evaluation of one program."""

    def __init__(self, scope: Scope, functions: Mapping[str, type[Function]]) -> None:
        self._scope = scope
        self._functions = functions
        self._calls = 0

    async def value(self, expression: Expression) -> Any:
        match expression:
            case Literal():
                return expression.value
            case Array():
                return [await self.value(item) for item in expression.items]
            case Object():
                return {key: await self.value(each) for key, each in expression.members.items()}
            case DialectCall():
                return await self._call(expression)

    async def _call(self, call: DialectCall) -> Any:
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise DialectError(f"more than {MAX_CALLS} calls", "request less at once")
        function = self._functions.get(call.name.lower())
        if function is None:
            raise DialectError(f"unknown function: {call.name}", self._hint(call.name))
        fields = function.__struct_fields__
        given = len(call.arguments)
        if given > len(fields):
            message = f"too many arguments for function {name_of(function)}"
            counts = f"expected {len(fields)}, got {given}"
            raise DialectError(f"{message}: {counts}", f"write {signature(function)}")
        values = [await self.value(each) for each in call.arguments]
        try:
            ready = msgspec.convert(dict(zip(fields, values, strict=False)), function)
        except (msgspec.ValidationError, OverflowError) as error:
            message = f"{name_of(function)}: {error}"
            raise DialectError(message, f"write {signature(function)}") from error
        return msgspec.to_builtins(await ready.run(self._scope))

    def _hint(self, name: str) -> str:
        names = [name_of(each) for each in dict.fromkeys(self._functions.values())]
        near = near_names(name, names)
        return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def signature(function: type[Function]) -> str:
    """Signature of a function, such as `search(path, regex, extension?)`."""
    fields, optional = function.__struct_fields__, len(function.__struct_defaults__)
    needed = len(fields) - optional
    shown = [name if at < needed else f"{name}?" for at, name in enumerate(fields)]
    return f"{name_of(function)}({', '.join(shown)})"
