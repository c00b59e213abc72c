"""Who knows the code: an attached editor, or language servers where there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from symposium.errors import SymposiumError
from symposium.ide.operations import Diagnostic, FileRange, Hover, SymbolDef


class IdeError(SymposiumError):
    """Nobody could answer a question about the code."""


@dataclass(frozen=True, slots=True)
class At:
    """A character of a file: an absolute path, line and column from 1."""

    path: str
    line: int
    column: int


class IdePort(Protocol):
    """Answers questions about the code of one workspace; each raises `IdeError` if it cannot."""

    async def symbols(self, name: str) -> Sequence[SymbolDef]:
        """Symbols that have this name, or one like it; the order is kept."""
        ...

    async def references(self, symbol: SymbolDef) -> Sequence[FileRange]:
        """Where a symbol is used, its definition left out."""
        ...

    async def definitions(self, at: At) -> Sequence[FileRange]:
        """Where that which stands there is defined."""
        ...

    async def hover(self, at: At) -> Hover:
        """What is known of what stands there."""
        ...

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """What is wrong in a file."""
        ...


class NoIde:
    """Where nobody can be asked."""

    def __init__(self, reason: str = "no editor and no language server answers here") -> None:
        self._reason = reason

    async def symbols(self, name: str) -> Sequence[SymbolDef]:
        """Refuse."""
        raise self._refusal(name)

    async def references(self, symbol: SymbolDef) -> Sequence[FileRange]:
        """Refuse."""
        raise self._refusal(symbol.name)

    async def definitions(self, at: At) -> Sequence[FileRange]:
        """Refuse."""
        raise self._refusal(at.path)

    async def hover(self, at: At) -> Hover:
        """Refuse."""
        raise self._refusal(at.path)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Refuse."""
        raise self._refusal(path)

    def _refusal(self, what: str) -> IdeError:
        hint = "use search(path, regex) or lines(path, start, end), which need none"
        return IdeError(f"{what}: {self._reason}", hint)
