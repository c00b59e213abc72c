"""Ask an attached editor about code, else language servers (bus-mcp §5.5)."""

import logging
from collections.abc import Sequence

import msgspec

from symposium.bus.errors import BusError
from symposium.bus.messages.editor import FindAllReferences, ResolveSymbolByName
from symposium.bus.messages.editor import SymbolDef as WireSymbol
from symposium.code.operations import Diagnostic, FileRange, Hover, SymbolDef
from symposium.code.query.functions import At, IdePort
from symposium.mcp_server.bus_port import Bus

PATIENCE = 10.0
"""Seconds for an editor; without one the daemon says so at once."""

_log = logging.getLogger(__name__)


class EditorFirst:
    """Asks the editor what it can answer, and language servers otherwise."""

    def __init__(self, bus: Bus, otherwise: IdePort) -> None:
        self._bus = bus
        self._otherwise = otherwise

    async def symbols(self, name: str) -> Sequence[SymbolDef]:
        """Symbols that have this name, or one like it."""
        try:
            found = await self._bus.request(ResolveSymbolByName(name=name), patience=PATIENCE)
        except BusError as error:
            _log.debug("no editor says where %s is: %s", name, error)
            return await self._otherwise.symbols(name)
        return msgspec.convert(msgspec.to_builtins(found), list[SymbolDef])

    async def references(self, symbol: SymbolDef) -> Sequence[FileRange]:
        """The uses of a symbol, without its definition."""
        request = FindAllReferences(symbol=msgspec.convert(msgspec.to_builtins(symbol), WireSymbol))
        try:
            found = await self._bus.request(request, patience=PATIENCE)
        except BusError as error:
            _log.debug("no editor says who uses %s: %s", symbol.name, error)
            return await self._otherwise.references(symbol)
        return msgspec.convert(msgspec.to_builtins(found), list[FileRange])

    async def definitions(self, at: At) -> Sequence[FileRange]:
        """The definitions of the symbol at a position; editors are not asked."""
        return await self._otherwise.definitions(at)

    async def hover(self, at: At) -> Hover:
        """Type and documentation of the symbol at a position; editors are not asked."""
        return await self._otherwise.hover(at)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Errors and warnings of a file; editors are not asked."""
        return await self._otherwise.diagnostics(path)
