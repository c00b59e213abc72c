"""Language servers as those who know the code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from peerwire.errors import RpcError
from symposium.ide.dialect.port import At, IdeError
from symposium.ide.headless import Headless
from symposium.ide.operations import (
    DIAGNOSTICS,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    HOVER,
    RESOLVE_SYMBOL,
    Diagnostic,
    Diagnostics,
    FileRange,
    Hover,
    Ranges,
    SymbolDef,
    Symbols,
)

_Result = TypeVar("_Result")


class HeadlessPort:
    """The language servers of one workspace; whoever has made `headless` runs it."""

    def __init__(self, headless: Headless, root: Path) -> None:
        self._headless = headless
        self._root = root

    async def symbols(self, name: str) -> Sequence[SymbolDef]:
        """Ask a workspace search."""
        return (await self._ask(RESOLVE_SYMBOL, {"name": name}, Symbols)).symbols

    async def references(self, symbol: SymbolDef) -> Sequence[FileRange]:
        """Ask for the references of the name at its definition."""
        where = symbol.defined_at
        at = At(where.path, where.start.line, where.start.column)
        return (await self._ask(FIND_REFERENCES, _place(at), Ranges)).ranges

    async def definitions(self, at: At) -> Sequence[FileRange]:
        """Ask for the definitions."""
        return (await self._ask(FIND_DEFINITIONS, _place(at), Ranges)).ranges

    async def hover(self, at: At) -> Hover:
        """Ask for the hover."""
        return await self._ask(HOVER, _place(at), Hover)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Ask for the diagnostics."""
        return (await self._ask(DIAGNOSTICS, {"path": path}, Diagnostics)).diagnostics

    async def _ask(self, method: str, params: Mapping[str, Any], kind: type[_Result]) -> _Result:
        try:
            found = await self._headless.answer(method, {"sessionId": "", **params}, self._root)
            return msgspec.convert(found, kind)
        except RpcError as error:
            detail, hint = _told(error)
            raise IdeError(detail, hint) from error


def _place(at: At) -> dict[str, Any]:
    return {"path": at.path, "line": at.line, "column": at.column}


def _told(error: RpcError) -> tuple[str, str]:
    match error.data:
        case {"detail": str(detail), "hint": str(hint)}:
            return detail, hint
        case {"detail": str(detail)}:
            return detail, ""
        case _:
            return str(error), ""
