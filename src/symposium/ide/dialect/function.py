"""What a function of the Dialect is: its parameters as fields, in order, and what it does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from msgspec import Struct

from symposium.errors import SymposiumError
from symposium.ide.dialect.port import IdePort
from symposium.ide.dialect.workspace import Workspace


class DialectError(SymposiumError):
    """A program cannot be carried out."""


class AmbiguityError(DialectError):
    """Something names several things, and something else would name one of them.

    Attributes:
        input: what was written.
        replacements: more specific expressions that can stand in its place.
    """

    def __init__(self, text: str, replacements: Sequence[str]) -> None:
        self.input = text
        self.replacements = list(replacements)
        hint = f"write one of: {', '.join(self.replacements)}" if self.replacements else ""
        super().__init__(f"{text} names {len(self.replacements)} things", hint)


class Hint(Struct, frozen=True):
    """What whoever wrote the program should know; stands beside the result.

    Attributes:
        input: the expression that it is about.
        message: what there is to know.
        replacements: expressions that can stand in its place.
    """

    input: str
    message: str
    replacements: list[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a function may ask.

    Attributes:
        workspace: the files.
        ide: who knows the code.
        new_id: makes an id for what has none.
        hints: what has been noted so far.
    """

    workspace: Workspace
    ide: IdePort
    new_id: Callable[[], str]
    hints: list[Hint] = field(default_factory=list[Hint])


class Function(Struct, frozen=True):
    """A call with its arguments; a subclass is called as its class, with a small first letter."""

    ALIASES: ClassVar[Sequence[str]] = ()
    RESULT: ClassVar[str] = "any"

    async def run(self, scope: Scope) -> Any:
        """The result, as JSON or as something that can be told as JSON.

        Raises:
            ExplainedError: there is none.
        """
        raise NotImplementedError


def name_of(function: type[Function]) -> str:
    """How a function is called."""
    return function.__name__[0].lower() + function.__name__[1:]


def by_name(functions: Sequence[type[Function]]) -> Mapping[str, type[Function]]:
    """The functions by each of their names, in small letters."""
    return {
        name.lower(): function
        for function in functions
        for name in (name_of(function), *function.ALIASES)
    }
