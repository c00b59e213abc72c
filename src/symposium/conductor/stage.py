"""What a chain runs on: the tasks and programs of its components, owned by one task group."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from peerwire.errors import INTERNAL_ERROR, RpcError, SpawnError
from peerwire.jsonrpc.transport import HIGH_WATER, Transport
from peerwire.transports.memory import MemoryTransport, memory_pair
from peerwire.transports.process import spawn
from symposium.conductor.blueprint import InProcess, OnStderr, Program, Served
from symposium.conductor.lanes import Lanes
from symposium.conductor.link import OVERFLOW, Link, LinkOwner

_log = logging.getLogger(__name__)


Tap: TypeAlias = Callable[[Transport, int, str], Transport]
"""Given a component's transport, place and name: the transport, with its lines logged."""


class Stage:
    """Starts what a chain needs, and knows what is running."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        owner: LinkOwner,
        on_stderr: Callable[[str, bytes], None] | None,
        tap: Tap | None = None,
    ) -> None:
        self._tasks = tasks
        self._owner = owner
        self._on_stderr = on_stderr
        self._tap = tap
        self._running: set[asyncio.Task[None]] = set()
        self._lanes: list[Lanes] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task of the chain."""
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def stop(self) -> None:
        """Cancel what is still running, and start no more work of mods."""
        for lanes in self._lanes:
            # A canceled task resumes what waited behind it.
            lanes.is_over = True
        for task in self._running:
            task.cancel()

    async def stopped(self) -> None:
        """Wait until nothing is running any more."""
        if self._running:
            await asyncio.wait(self._running)

    def lanes(self, source: Link) -> Lanes:
        """The lanes of a way that this link feeds: the link waits while much is parked."""

        def brake(lanes: Lanes) -> None:
            # A mod that waits for an answer from there would wait for ever if nobody read it.
            limit = OVERFLOW if lanes.answers_due else HIGH_WATER
            if lanes.waiting_bytes > limit:
                source.hold(lanes)
            else:
                source.let_go(lanes)

        def spawn(rest: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            return self.start(contained("a mod", lambda: rest))

        lanes = Lanes(spawn, brake)
        self._lanes.append(lanes)
        return lanes

    def open_link(self, component: Program | Served, index: int) -> Link:
        """Start a component.

        Raises:
            RpcError: it could not be started; the data names it, its place and the reason.
        """
        try:
            transport = self._open(component)
        except SpawnError as error:
            data = {"reason": "component_start_failed", "component": component.name, "index": index}
            cause = {"argv": list(error.argv), "errno": error.errno, "detail": str(error)}
            raise RpcError(INTERNAL_ERROR, data | cause) from error
        if self._tap is not None:
            transport = self._tap(transport, index, component.name)
        return Link(component.name, transport, self._owner)

    def start_mod(self, component: InProcess) -> None:
        """Start the mod's own work."""
        self.start(contained(component.name, component.mod.run))

    def _open(self, component: Program | Served) -> Transport:
        if isinstance(component, Program):
            tell, name = self._on_stderr, component.name
            on_stderr: OnStderr | None = None if tell is None else lambda line: tell(name, line)
            if component.opener is not None:
                return component.opener(self.start, on_stderr)
            return spawn(component.command, on_stderr=on_stderr)
        ours, theirs = memory_pair()
        self.start(_served(component, theirs))
        return ours


async def contained(name: str, function: Callable[[], Awaitable[None]]) -> None:
    """Let a component's own work fail alone: in process it must fail no further than a program."""
    try:
        await function()
    except Exception:  # noqa: BLE001 - the components' boundary: what runs beside the messages
        _log.exception("%s failed", name)


async def _served(component: Served, transport: MemoryTransport) -> None:
    try:
        await contained(component.name, lambda: component.serve(transport))
    finally:
        # However it ends, whoever waits for it has to learn of it.
        await transport.aclose()
