"""Someone who knows a few symbols, in place of an editor."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from symposium.code.operations import CodePosition, CodeRange, Diagnostic, Hover, SymbolDefinition
from symposium.code.query.functions import At, IdeError


def place(path: str, line: int, first: int, last: int, content: str | None = None) -> CodeRange:
    """A part of one line."""
    return CodeRange(path, CodePosition(line, first), CodePosition(line, last), content)


USER = SymbolDefinition("User", place("src/models.rs", 10, 0, 4, "struct User {"), "struct")
VALIDATE = (
    SymbolDefinition(
        "validateToken", place("src/auth.rs", 42, 0, 13, "fn validateToken("), "function"
    ),
    SymbolDefinition(
        "validateToken", place("src/utils.rs", 15, 0, 13, "fn validateToken("), "function"
    ),
)
USES = (
    place("src/auth.rs", 5, 12, 16, "use crate::User;"),
    place("src/handlers.rs", 23, 8, 12, "   let User(name) = it;"),
)


@dataclass(slots=True)
class FakeIde:
    """Knows the symbols that the reference's tests know; remembers what it was asked.

    Attributes:
        asked: the names and places.
        also: more symbols, which it gives for any name.
    """

    asked: list[str] = field(default_factory=list[str])
    also: Sequence[SymbolDefinition] = ()

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Those that it knows."""
        self.asked.append(name)
        known = [each for each in (USER, *VALIDATE) if each.name == name]
        return [*known, *self.also]

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """Those of `User`."""
        self.asked.append(symbol.defined_at.path)
        return USES if symbol.name == "User" else []

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """That of `User`, wherever it is asked for."""
        self.asked.append(f"{at.path}:{at.line}:{at.column}")
        return [USER.defined_at]

    async def hover(self, at: At) -> Hover:
        """A type."""
        self.asked.append(f"{at.path}:{at.line}:{at.column}")
        return Hover("a **struct**")

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """One, unless the file is `broken`."""
        self.asked.append(path)
        if path.endswith("broken"):
            raise IdeError("the server has gone", "ask again")
        return [Diagnostic(place(path, 1, 1, 2), "error", "it is wrong", "E1", "test")]
