"""Answers IDE operations without an editor, from language servers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from peerwire.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from symposium.ide.documents import first_file
from symposium.ide.operations import (
    DIAGNOSTICS,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    GET_SELECTION,
    HOVER,
    NO_EDITOR,
    RESOLVE_SYMBOL,
    Diagnostics,
    InFile,
    NamedSymbol,
    Place,
    Ranges,
    SymbolDef,
    Symbols,
)
from symposium.ide.server_pool import PoolSettings, ServerPool, failed
from symposium.ide.servers import ServerSpec

ANSWER_TIMEOUT: Final = 60.0
"""Seconds that one operation may take, the start of a server included."""

_log = logging.getLogger(__name__)
_Params = TypeVar("_Params")


class Headless:
    """Stands in for an editor; `run` owns the servers.

    Attributes:
        pool: the servers.
    """

    def __init__(
        self, settings: PoolSettings | None = None, *, answer_timeout: float = ANSWER_TIMEOUT
    ) -> None:
        settings = settings or PoolSettings()
        self.pool = ServerPool(settings)
        self._servers = settings.servers
        self._answer_timeout = answer_timeout
        self._operations: dict[str, Callable[[object, Path], Awaitable[Any]]] = {
            RESOLVE_SYMBOL: self._symbols,
            FIND_DEFINITIONS: self._definitions,
            FIND_REFERENCES: self._references,
            HOVER: self._hover,
            DIAGNOSTICS: self._diagnostics,
            GET_SELECTION: _selection,
        }

    async def run(self) -> None:
        """Keep servers until cancelled; then none is left."""
        await self.pool.run()

    async def answer(self, method: str, params: object, root: Path) -> Any:
        """The result of an operation, as JSON has it.

        Args:
            method: one of `OPERATIONS`.
            params: those of the request.
            root: the session's directory.

        Raises:
            RpcError: the params are wrong, no server is at hand, or it has failed.
        """
        operation = self._operations.get(method)
        if operation is None:
            raise RpcError(METHOD_NOT_FOUND, method)
        try:
            async with asyncio.timeout(self._answer_timeout):
                return msgspec.to_builtins(await operation(params, root))
        except TimeoutError as error:
            raise failed(f"no answer within {self._answer_timeout:g} s", "ide_timeout") from error
        except (OSError, ValueError) as error:
            raise RpcError(INVALID_PARAMS, {"reason": "ide_file", "detail": str(error)}) from error
        except (LookupError, TypeError, AttributeError) as error:
            _log.warning("the answer of a language server to %s has an unknown form", method)
            raise failed(f"the answer has an unknown form: {error!r}", "ide_odd_answer") from error

    # -- one for each operation

    async def _symbols(self, params: object, root: Path) -> Symbols:
        name = _read(params, NamedSymbol).name
        found: list[SymbolDef] = []
        refusal: RpcError | None = None
        for spec in self._languages(root):
            try:
                found += await self.pool.ask(spec, root, lambda server: server.symbols(name))
            except RpcError as error:
                _log.warning("%s", error)
                refusal = error
        if refusal is not None and not found:
            raise refusal
        exact = [symbol for symbol in found if symbol.name == name]
        return Symbols(exact or found, bool(exact))

    async def _definitions(self, params: object, root: Path) -> Ranges:
        spec, path, at = self._place(params, root)
        return Ranges(await self.pool.ask(spec, root, lambda server: server.definitions(path, *at)))

    async def _references(self, params: object, root: Path) -> Ranges:
        spec, path, at = self._place(params, root)
        return Ranges(await self.pool.ask(spec, root, lambda server: server.references(path, *at)))

    async def _hover(self, params: object, root: Path) -> Any:
        spec, path, at = self._place(params, root)
        return await self.pool.ask(spec, root, lambda server: server.hover(path, *at))

    async def _diagnostics(self, params: object, root: Path) -> Diagnostics:
        path = root / _read(params, InFile).path
        spec = self._language_of(path)
        return Diagnostics(await self.pool.ask(spec, root, lambda server: server.diagnostics(path)))

    # -- which server

    def _place(self, params: object, root: Path) -> tuple[ServerSpec, Path, tuple[int, int]]:
        place = _read(params, Place)
        path = root / place.path
        return self._language_of(path), path, (place.line, place.column)

    def _language_of(self, path: Path) -> ServerSpec:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        for spec in self._servers:
            if path.suffix in spec.ids:
                return spec
        known = ", ".join(spec.language for spec in self._servers)
        raise failed(
            f"no language server is known for {path.name}, only for {known}", "ide_language"
        )

    def _languages(self, root: Path) -> list[ServerSpec]:
        """The languages of a workspace: by a file at its root, or by any file in it."""
        found = [
            spec
            for spec in self._servers
            if any((root / marker).is_file() for marker in spec.markers)
            or first_file(root, frozenset(spec.ids)) is not None
        ]
        if not found:
            known = ", ".join(spec.language for spec in self._servers)
            raise failed(f"{root} holds nothing of a known language ({known})", "ide_language")
        return found


async def _selection(params: object, root: Path) -> Any:
    del params, root
    return NO_EDITOR


def _read(params: object, kind: type[_Params]) -> _Params:
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error
