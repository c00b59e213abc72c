"""Fake editor that knows a few symbols."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from symposium.code.ide_operations import (
    CodePosition,
    CodeRange,
    Diagnostic,
    Hover,
    SymbolDefinition,
)
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
    """Knows the symbols of the reference's tests, and records requests.

    Attributes:
        asked: the requested names and places.
        also: more symbols, returned for any name.
    """

    asked: list[str] = field(default_factory=list[str])
    also: Sequence[SymbolDefinition] = ()

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        self.asked.append(name)
        known = [each for each in (USER, *VALIDATE) if each.name == name]
        return [*known, *self.also]

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """Return references to `User`."""
        self.asked.append(symbol.defined_at.path)
        return USES if symbol.name == "User" else []

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """Return the definition of `User` for every place."""
        self.asked.append(f"{at.path}:{at.line}:{at.column}")
        return [USER.defined_at]

    async def hover(self, at: At) -> Hover:
        """Return a type."""
        self.asked.append(f"{at.path}:{at.line}:{at.column}")
        return Hover("a **struct**")

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Return one diagnostic, unless the file is `broken`."""
        self.asked.append(path)
        if path.endswith("broken"):
            raise IdeError("the server exited", "ask again")
        return [Diagnostic(place(path, 1, 1, 2), "error", "it is wrong", "E1", "test")]
