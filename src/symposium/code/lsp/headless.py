"""IDE operations without an editor, with a pool of language servers.

A server starts on the first request, stops when idle, and restarts after a crash. Between crash and
restart, requests are rejected; this pause grows with each crash.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from peerwire.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PeerwireError,
    RpcError,
)
from peerwire.jsonrpc.transport import Transport
from symposium.code.ide_operations import (
    DIAGNOSTICS,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    GET_SELECTION,
    HOVER,
    NO_EDITOR,
    RESOLVE_SYMBOL,
    CodeRange,
    Diagnostic,
    DiagnosticsReport,
    Hover,
    InFile,
    NamedSymbol,
    Place,
    Ranges,
    SymbolDefinition,
    Symbols,
)
from symposium.code.lsp.documents import UnreadableFileError, first_file
from symposium.code.lsp.framing import spawn_framed
from symposium.code.lsp.server import LanguageServer, UnexpectedResponseError
from symposium.code.lsp.servers import SERVERS, ServerSpec, launch_of
from symposium.code.query.functions import At, IdeError

IDLE_TIMEOUT: Final = 600.0
"""Seconds without a request after which a server stops."""

FIRST_PAUSE: Final = 1.0
"""Seconds between a crash and the restart; doubled with each crash."""

MAX_PAUSE: Final = 60.0
"""Maximum pause in seconds; after a longer run, the pause is short again."""

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

Spawn: TypeAlias = Callable[[Sequence[str], Path], Awaitable[Transport]]
"""Starts a program in a directory."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Settings of a server pool.

    Attributes:
        servers: known servers.
        spawn: starts a program.
        idle_timeout: seconds without a request after which a server stops.
        first_pause: seconds before the first restart.
    """

    servers: Sequence[ServerSpec] = SERVERS
    spawn: Spawn = spawn_framed
    idle_timeout: float = IDLE_TIMEOUT
    first_pause: float = FIRST_PAUSE


@dataclass(slots=True)
class _Slot:
    """One server of the pool: not started, starting, running, or crashed."""

    spec: ServerSpec
    root: Path
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    server: LanguageServer | None = None
    serving: asyncio.Task[None] | None = None
    questions: int = 0
    timer: asyncio.TimerHandle | None = None
    is_leaving: bool = False
    pause: float = 0.0
    not_before: float = 0.0


class ServerPool:
    """Run language servers; `run` owns them."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._slots: dict[tuple[Path, str], _Slot] = {}
        self._tasks = asyncio.TaskGroup()
        self._open = asyncio.Event()

    @property
    def running(self) -> list[str]:
        return [slot.spec.language for slot in self._slots.values() if slot.server is not None]

    async def run(self) -> None:
        """Run servers until canceled, then stop them."""
        async with self._tasks:
            self._open.set()
            await asyncio.Event().wait()

    async def ask(
        self, spec: ServerSpec, root: Path, question: Callable[[LanguageServer], Awaitable[_Answer]]
    ) -> _Answer:
        """Send a request to the server of a language; start it if necessary.

        Raises:
            RpcError: no server is installed, it cannot start now, or it failed.
        """
        await self._open.wait()
        slot = self._slots.setdefault((root, spec.language), _Slot(spec, root))
        slot.questions += 1
        if slot.timer is not None:
            slot.timer.cancel()
        try:
            async with slot.lock:
                server = slot.server or await self._start(slot)
            return await question(server)
        except PeerwireError as error:
            if isinstance(error, RpcError) and error.code == INTERNAL_ERROR and error.data:
                raise
            if not isinstance(error, RpcError) and slot.serving is not None:
                # The server crashed: start the pause before the next request.
                await asyncio.wait([slot.serving])
            raise failed(f"the {spec.language} server: {error}", "ide_server_failed") from error
        finally:
            slot.questions -= 1
            self._watch_idle(slot)

    async def _start(self, slot: _Slot) -> LanguageServer:
        loop = asyncio.get_running_loop()
        if (left := slot.not_before - loop.time()) > 0:
            reason = f"the {slot.spec.language} server crashed; retry in {left:.0f} s"
            raise failed(reason, "ide_server_crashed")
        launch = launch_of(slot.spec, slot.root)
        if launch is None:
            raise no_server(slot.spec)
        transport = await self._settings.spawn(launch.argv, slot.root)
        server = LanguageServer(slot.spec, slot.root, transport)
        slot.is_leaving = False
        slot.serving = self._tasks.create_task(self._serve(slot, server))
        try:
            await server.initialize(launch.options)
        except BaseException:
            server.connection.close()
            raise
        slot.server = server
        return server

    async def _serve(self, slot: _Slot, server: LanguageServer) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        try:
            await server.connection.run()
        finally:
            slot.server = None
        if slot.is_leaving:
            slot.pause = 0.0
            return
        now = loop.time()
        slot.pause = next_pause(now - begin, slot.pause, self._settings.first_pause)
        slot.not_before = now + slot.pause
        _log.warning("the %s server of %s exited", slot.spec.language, slot.root)

    def _watch_idle(self, slot: _Slot) -> None:
        if slot.questions or slot.server is None:
            return
        loop = asyncio.get_running_loop()
        slot.timer = loop.call_later(self._settings.idle_timeout, self._dismiss, slot)

    def _dismiss(self, slot: _Slot) -> None:
        if slot.server is not None and not slot.questions:
            slot.is_leaving = True
            self._tasks.create_task(_leave(slot.server))
            slot.server = None


def next_pause(lived: float, last: float, first: float) -> float:
    """Seconds before a server may start again after a crash: `first`, then twice the last."""
    return first if lived > MAX_PAUSE else min(last * 2 or first, MAX_PAUSE)


async def _leave(server: LanguageServer) -> None:
    await server.shutdown()
    server.connection.close()


def failed(detail: str, reason: str) -> RpcError:
    """Error of a failed operation."""
    return RpcError(INTERNAL_ERROR, {"reason": reason, "detail": detail})


def no_server(spec: ServerSpec) -> RpcError:
    """Error for a language without an installed server, with installation instructions."""
    names = " or ".join(command[0] for command in spec.commands)
    data = {
        "reason": "no_language_server",
        "language": spec.language,
        "detail": f"no language server for {spec.language} is installed ({names})",
        "hint": f"install it with: {spec.install}",
    }
    return RpcError(INTERNAL_ERROR, data)


ANSWER_TIMEOUT: Final = 60.0
"""Maximum seconds for an operation, including the start of a server."""
_Params = TypeVar("_Params")


class Headless:
    """IDE operations without an editor; `run` owns the servers.

    Attributes:
        pool: running servers.
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
        """Run servers until canceled, then stop them."""
        await self.pool.run()

    async def answer(self, method: str, params: object, root: Path) -> Any:
        """Result of an operation as JSON.

        Args:
            method: one of `OPERATIONS`.
            params: params of the request.
            root: directory of the session.

        Raises:
            RpcError: the params are invalid, no server is available, or it failed.
        """
        operation = self._operations.get(method)
        if operation is None:
            raise RpcError(METHOD_NOT_FOUND, method)
        try:
            async with asyncio.timeout(self._answer_timeout):
                return msgspec.to_builtins(await operation(params, root))
        except TimeoutError as error:
            raise failed(f"no answer within {self._answer_timeout:g} s", "ide_timeout") from error
        except UnreadableFileError as error:
            raise RpcError(INVALID_PARAMS, {"reason": "ide_file", "detail": str(error)}) from error
        except UnexpectedResponseError as error:
            _log.warning("unexpected response of a language server to %s", method, exc_info=error)
            raise failed(f"unexpected response: {error}", "ide_odd_answer") from error

    async def _symbols(self, params: object, root: Path) -> Symbols:
        name = _read(params, NamedSymbol).name
        found: list[SymbolDefinition] = []
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

    async def _diagnostics(self, params: object, root: Path) -> DiagnosticsReport:
        path = root / _read(params, InFile).path
        spec = self._language_of(path)
        return DiagnosticsReport(
            await self.pool.ask(spec, root, lambda server: server.diagnostics(path))
        )

    def _place(self, params: object, root: Path) -> tuple[ServerSpec, Path, tuple[int, int]]:
        place = _read(params, Place)
        path = root / place.path
        return self._language_of(path), path, (place.line, place.column)

    def _language_of(self, path: Path) -> ServerSpec:
        if not path.is_file():
            raise UnreadableFileError(f"{path} does not exist")
        for spec in self._servers:
            if path.suffix in spec.ids:
                return spec
        known = ", ".join(spec.language for spec in self._servers)
        raise failed(
            f"no known language server for {path.name}; known languages: {known}", "ide_language"
        )

    def _languages(self, root: Path) -> list[ServerSpec]:
        """Languages of a workspace: by files at its root, otherwise by any file."""
        found = [
            spec
            for spec in self._servers
            if any((root / marker).is_file() for marker in spec.markers)
            or first_file(root, frozenset(spec.ids)) is not None
        ]
        if not found:
            known = ", ".join(spec.language for spec in self._servers)
            raise failed(f"{root} contains no files of a known language ({known})", "ide_language")
        return found


async def _selection(params: object, root: Path) -> Any:
    del params, root
    return NO_EDITOR


def _read(params: object, kind: type[_Params]) -> _Params:
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


_Result = TypeVar("_Result")


class HeadlessPort:
    """IDE operations of one workspace; the owner of `headless` runs it."""

    def __init__(self, headless: Headless, root: Path) -> None:
        self._headless = headless
        self._root = root

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Search the workspace for symbols."""
        return (await self._ask(RESOLVE_SYMBOL, {"name": name}, Symbols)).symbols

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        where = symbol.defined_at
        at = At(where.path, where.start.line, where.start.column)
        return (await self._ask(FIND_REFERENCES, _place(at), Ranges)).ranges

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        return (await self._ask(FIND_DEFINITIONS, _place(at), Ranges)).ranges

    async def hover(self, at: At) -> Hover:
        """Read the hover text."""
        return await self._ask(HOVER, _place(at), Hover)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        return (await self._ask(DIAGNOSTICS, {"path": path}, DiagnosticsReport)).diagnostics

    async def _ask(self, method: str, params: Mapping[str, Any], kind: type[_Result]) -> _Result:
        try:
            found = await self._headless.answer(method, {"sessionId": "", **params}, self._root)
            return msgspec.convert(found, kind)
        except RpcError as error:
            detail, hint = _error_parts(error)
            raise IdeError(detail, hint) from error


def _place(at: At) -> dict[str, Any]:
    return {"path": at.path, "line": at.line, "column": at.column}


def _error_parts(error: RpcError) -> tuple[str, str]:
    match error.data:
        case {"detail": str(detail), "hint": str(hint)}:
            return detail, hint
        case {"detail": str(detail)}:
            return detail, ""
        case _:
            return str(error), ""
