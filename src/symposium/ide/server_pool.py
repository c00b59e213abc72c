"""Language servers on demand: one for each workspace and language.

Started at the first question, stopped when idle, started again after a crash with growing pauses
in which questions are refused.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from peerwire.errors import INTERNAL_ERROR, PeerwireError, RpcError
from peerwire.jsonrpc.transport import Transport
from symposium.ide.framed_process import spawn_framed
from symposium.ide.language_server import LanguageServer
from symposium.ide.servers import SERVERS, ServerSpec, launch_of

IDLE_TIMEOUT: Final = 600.0
"""Seconds without a question after which a server is stopped."""

FIRST_PAUSE: Final = 1.0
"""Seconds after a crash in which the server is not started again; doubled with each crash."""

LONGEST_PAUSE: Final = 60.0
"""Seconds that the pause grows to; who has lived longer than that begins anew."""

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

Spawn: TypeAlias = Callable[[Sequence[str], Path], Awaitable[Transport]]
"""Starts a program in a folder."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How servers are kept.

    Attributes:
        servers: those that are known.
        spawn: starts one.
        idle_timeout: seconds without a question after which one is stopped.
        first_pause: seconds before the first restart.
    """

    servers: Sequence[ServerSpec] = SERVERS
    spawn: Spawn = spawn_framed
    idle_timeout: float = IDLE_TIMEOUT
    first_pause: float = FIRST_PAUSE


@dataclass(slots=True)
class _Slot:
    """The place of one server: empty, being filled, running, or fallen."""

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
    """Keeps language servers; `run` owns them."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._slots: dict[tuple[Path, str], _Slot] = {}
        self._tasks = asyncio.TaskGroup()
        self._open = asyncio.Event()

    @property
    def running(self) -> list[str]:
        """The languages whose servers run."""
        return [slot.spec.language for slot in self._slots.values() if slot.server is not None]

    async def run(self) -> None:
        """Keep servers until cancelled; then none is left."""
        async with self._tasks:
            self._open.set()
            await asyncio.Event().wait()

    async def ask(
        self, spec: ServerSpec, root: Path, question: Callable[[LanguageServer], Awaitable[_Answer]]
    ) -> _Answer:
        """Ask the server of a language; it is started if none runs.

        Raises:
            RpcError: none is installed, it cannot be started now, or it has failed.
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
                # It has crashed: the pause begins before anybody can ask again.
                await asyncio.wait([slot.serving])
            raise failed(f"the {spec.language} server: {error}", "ide_server_failed") from error
        finally:
            slot.questions -= 1
            self._watch_idle(slot)

    async def _start(self, slot: _Slot) -> LanguageServer:
        loop = asyncio.get_running_loop()
        if (left := slot.not_before - loop.time()) > 0:
            reason = f"the {slot.spec.language} server has crashed; asked again in {left:.0f} s"
            raise failed(reason, "ide_server_crashed")
        launch = launch_of(slot.spec, slot.root)
        if launch is None:
            raise no_server(slot.spec)
        transport = await self._settings.spawn(launch.argv, slot.root)
        server = LanguageServer(slot.spec, slot.root, transport)
        slot.is_leaving = False
        slot.serving = self._tasks.create_task(self._serve(slot, server))
        try:
            await server.greet(launch.options)
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
        has_lived = now - begin > LONGEST_PAUSE
        first = self._settings.first_pause
        slot.pause = first if has_lived else min(slot.pause * 2 or first, LONGEST_PAUSE)
        slot.not_before = now + slot.pause
        _log.warning("the %s server of %s has ended", slot.spec.language, slot.root)

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


async def _leave(server: LanguageServer) -> None:
    await server.bye()
    server.connection.close()


def failed(detail: str, reason: str) -> RpcError:
    """An operation that could not be answered."""
    return RpcError(INTERNAL_ERROR, {"reason": reason, "detail": detail})


def no_server(spec: ServerSpec) -> RpcError:
    """Nothing is installed that knows this language; says how to get it."""
    names = " or ".join(command[0] for command in spec.commands)
    data = {
        "reason": "no_language_server",
        "language": spec.language,
        "detail": f"no language server for {spec.language} is installed ({names})",
        "hint": f"install it with: {spec.install}",
    }
    return RpcError(INTERNAL_ERROR, data)
