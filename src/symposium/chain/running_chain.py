"""Start and stop the components of a chain, and report on it.

The owner handles the client, before and after the chain.

Reports contain no secrets: only name, kind, and transport of a server.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from localio.text import one_line
from peerwire.errors import INTERNAL_ERROR, RpcError, SpawnError, TransportError
from peerwire.jsonrpc.transport import HIGH_WATER, Transport
from peerwire.transports.memory import MemoryTransport, memory_pair
from peerwire.transports.process import ProcessExitedError, spawn
from symposium.chain.assembly import AssemblyContext, Watcher, assemble
from symposium.chain.blueprint import InProcess, Instantiator, OnStderr, Program, Served
from symposium.chain.calls import SHUTTING_DOWN, RouteEnd
from symposium.chain.capabilities import Reach, reachability
from symposium.chain.handshake import INITIALIZE_TIMEOUT, VersionSelection, pin_version
from symposium.chain.intake import Intake
from symposium.chain.link import (
    OVERFLOW,
    Link,
    LinkOwner,
    PeerState,
    abandon,
    fail,
    fail_asked,
    keep_until_initialized,
)
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.monitoring import ChainSessions, Latency, LatencyTable
from symposium.chain.ordering import OrderedQueues
from symposium.chain.routing import Route

_log = logging.getLogger(__name__)


Tap: TypeAlias = Callable[[Transport, int, str], Transport]
"""Wraps a component's transport to log its lines, given its position and name."""


class ComponentTasks:
    """Start the components and tasks of a chain."""

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
        self._all_queues: list[OrderedQueues] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task of the chain."""
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def stop(self) -> None:
        """Cancel all tasks, and start no more tasks of mods."""
        for queues in self._all_queues:
            # A canceled task resumes the messages behind it.
            queues.is_over = True
        for task in self._running:
            task.cancel()

    async def stopped(self) -> None:
        """Wait until all tasks have ended."""
        if self._running:
            await asyncio.wait(self._running)

    def queues_for(self, source: Link) -> OrderedQueues:
        """Queues of a route fed by this link; the link waits while they are long."""

        def brake(queues: OrderedQueues) -> None:
            # Keep reading for a mod that waits for an answer from this link.
            limit = OVERFLOW if queues.answers_due else HIGH_WATER
            if queues.waiting_bytes > limit:
                source.hold(queues)
            else:
                source.release(queues)

        def spawn(rest: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            return self.start(log_failures("a mod", lambda: rest))

        queues = OrderedQueues(spawn, brake)
        self._all_queues.append(queues)
        return queues

    def open_link(self, component: Program | Served, index: int) -> Link:
        """Start a component.

        Raises:
            RpcError: it could not be started; the data contains name, position, and reason.
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
        """Start the mod's background work."""
        self.start(log_failures(component.name, component.mod.run))

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


async def log_failures(name: str, function: Callable[[], Awaitable[None]]) -> None:
    """Log exceptions of a component's own work, so that they end nothing else."""
    try:
        await function()
    except Exception:  # noqa: BLE001 - error boundary of background work
        _log.exception("%s failed", name)


async def _served(component: Served, transport: MemoryTransport) -> None:
    try:
        await log_failures(component.name, lambda: component.serve(transport))
    finally:
        # In any case, close the transport, so that the peer notices.
        await transport.aclose()


AGENT_GRACE: Final = 1.0
"""Seconds for the agent to exit before the input of the other components is closed."""

_LAST_LINE: Final = 200
"""Maximum length of a component's last line in the log, in characters."""

MOD_GRACE: Final = 2.0
"""Seconds for a mod's `aclose`."""


class ChainSettings(Struct, frozen=True):
    """Settings of a chain.

    Attributes:
        initialize_timeout: seconds for each component's response to `initialize`.
        watcher: recorder of every leg, if the chain is traced.
        on_stderr: receives each line of a component's stderr, with its name.
        tap: wraps the transports for the debug log.
        client_end: route end on the client's side; default: the client's link.
        beside_agent: creates the host's mods next to the agent.
    """

    initialize_timeout: float = INITIALIZE_TIMEOUT
    watcher: Watcher | None = None
    on_stderr: Callable[[str, bytes], None] | None = None
    tap: Tap | None = None
    client_end: RouteEnd | None = None
    beside_agent: Callable[[], Sequence[InProcess]] = tuple


class RunningChain:
    """The components of one chain, from `initialize` until the last process has exited.

    Attributes:
        components: tasks and programs of this chain.
        failure: error of the first failed component; None while all are running.
        sessions: its sessions, and how their MCP servers reach the agent.
    """

    def __init__(
        self,
        client: Link,
        tasks: asyncio.TaskGroup,
        settings: ChainSettings,
        on_death: Callable[[RpcError], None],
    ) -> None:
        self._client = client
        self._settings = settings
        self._on_death = on_death
        self.components = ComponentTasks(tasks, self, settings.on_stderr, settings.tap)
        self._places: dict[Link, int] = {}
        self._mods: list[InProcess] = []
        self._measures = LatencyTable.of(())
        self.sessions = ChainSessions()
        self._is_ending = False
        self._selection = VersionSelection(0)
        self.failure: RpcError | None = None

    async def start(self, instantiate: Instantiator, message: ChainMessage, version: int) -> Route:
        """Select and start the components for `initialize`; returns the client's route.

        Raises:
            RpcError: a component could not be started; `end` stops the others.
        """
        blueprint = instantiate(message.params)
        if isinstance(blueprint, Awaitable):
            blueprint = await blueprint
        if blueprint.params is not None:
            message.replace(method=None, params=blueprint.params)
            pin_version(message, version)
        self._measures = LatencyTable.of(blueprint.mods)
        if blueprint.agent is not None:
            # In a chain that is itself a proxy, the outer conductor has the agent.
            mods = self.sessions.placed(blueprint.mods, self._settings.beside_agent())
            blueprint = replace(blueprint, mods=mods)
        self._selection = VersionSelection(version, self._settings.initialize_timeout)
        workshop = AssemblyContext(
            self._client,
            self._open_link,
            self.components.queues_for,
            self._selection,
            self._settings.watcher,
            self._settings.client_end,
            self._measures.in_process,
        )
        assembly = assemble(workshop, blueprint)
        # The last link is the agent's, if there is an agent.
        for link, passing in zip(assembly.links, self._measures.programs(), strict=False):
            link.passing = passing
        for link in assembly.links:
            link.transport.start(Intake(link))
        self._mods = assembly.mods
        return assembly.entrance

    def checked(self, answer: Answer) -> Answer:
        """The chain's response to `initialize`; an error if its version is not the agent's."""
        fault = None if answer.error is not None else self._selection.fault(answer)
        return answer if fault is None else Answer(error=fault)

    def opened(self) -> None:
        """Start the mods' background work: the chain answered `initialize`."""
        for component in self._mods:
            self.components.start_mod(component)

    async def end(self) -> None:
        """Stop the components, the agent first, so that its last messages pass the others."""
        self._is_ending = True
        links = list(self._places)
        for link in links:
            if link.state is not PeerState.FAILED:
                link.state = PeerState.DRAINING
        try:
            await _close(links)
        finally:
            for link in links:
                link.state = PeerState.CLOSED
                fail(link, self.failure or SHUTTING_DOWN)
                abandon(link)
            self._leave_client(links)
            self.components.stop()
        await self.components.stopped()
        mods, self._mods = self._mods, []
        for component in mods:
            with suppress(TimeoutError):
                async with asyncio.timeout(MOD_GRACE):
                    await log_failures(component.name, component.mod.aclose)

    @property
    def latencies(self) -> Sequence[tuple[str, Latency | None]]:
        """Latency of each mod, from the client's side."""
        return self._measures.latencies()

    @property
    def agent_name(self) -> str:
        """Name of the last component."""
        return list(self._places)[-1].name if self._places else "agent"

    def give_up(self, death: RpcError) -> None:
        """Kill the last component: it did not stop when asked."""
        if self._is_ending or self.failure is not None or not self._places:
            return
        self.failure = death
        link = list(self._places)[-1]
        fail(link, death)
        abandon(link)
        self.components.start(log_failures(link.name, lambda: link.transport.aclose(grace=0)))
        self._on_death(death)

    def link_ended(self, link: Link, error: Exception | None) -> None:
        """Handle the end of a component's output; a failure unless the chain is stopping."""
        if self._is_ending or link.state in {PeerState.FAILED, PeerState.CLOSED}:
            fail_asked(link, link.failure or self.failure or SHUTTING_DOWN)
            return
        death = _death(link, self._places[link], error)
        _log.error("component %s exited: %s", link.name, _manner(error))
        self.failure = self.failure or death
        fail(link, death)
        abandon(link)
        self._on_death(death)

    def link_overflowed(self, link: Link) -> None:
        """Treat a component as failed: it does not read."""
        if link.state not in {PeerState.FAILED, PeerState.CLOSED}:
            error = overflow(link)
            asyncio.get_running_loop().call_soon(self.link_ended, link, error)

    def _open_link(self, component: Program | Served, index: int) -> Link:
        link = self.components.open_link(component, index)
        keep_until_initialized(link)
        self._places[link] = index
        return link

    def _leave_client(self, links: Sequence[Link]) -> None:
        self._client.feeders[:] = [other for other in self._client.feeders if other not in links]
        self._client.writers[:] = [other for other in self._client.writers if other not in links]


def overflow(link: Link) -> TransportError:
    """Error for a peer that does not read."""
    error = TransportError(f"{link.name} has stopped reading, and too much waits for it")
    _log.error("%s", error)
    return error


def _manner(error: Exception | None) -> str:
    """Reason of an exit with the last line of stderr, for the log."""
    if not isinstance(error, ProcessExitedError):
        return str(error or "it closed the connection")
    lines = error.stderr_tail.decode(errors="replace").strip().splitlines()
    return f"{error}: {one_line(lines[-1], width=_LAST_LINE)}" if lines else str(error)


def _death(link: Link, index: int, error: Exception | None) -> RpcError:
    data: dict[str, Any] = {"reason": "component_exited", "component": link.name, "index": index}
    if isinstance(error, ProcessExitedError):
        tail = error.stderr_tail.decode(errors="replace")
        data |= {
            "exitCode": error.exit_code,
            "signal": error.signal,
            "stderrTail": tail,
            "argv": list(error.argv),
        }
    else:
        data |= {
            "exitCode": None,
            "signal": None,
            "stderrTail": "" if error is None else str(error),
        }
    return RpcError(INTERNAL_ERROR, data)


async def _close(links: Sequence[Link]) -> None:
    agent_gone = asyncio.Event()
    left = set(links)

    async def close(link: Link) -> None:
        try:
            await link.transport.aclose()
        finally:
            left.discard(link)
            if link is links[-1]:
                agent_gone.set()

    async def close_after_agent(link: Link) -> None:
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(AGENT_GRACE):
                    await agent_gone.wait()
        finally:
            await close(link)

    try:
        async with asyncio.TaskGroup() as tasks:
            for link in links[-1:]:
                tasks.create_task(close(link))
            for link in links[:-1]:
                tasks.create_task(close_after_agent(link))
    finally:
        # A task canceled before its first step has closed nothing.
        for link in list(left):
            await link.transport.aclose(grace=0)


def reaches(sessions: ChainSessions, session: str) -> list[Reach]:
    """Reachability of each server of a session."""
    known = sessions.sessions.get(session)
    servers = () if known is None else known.servers
    return [reachability(server, sessions.mode, sessions.initialize_result) for server in servers]


def chain_report(running: RunningChain, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Report of a chain as JSON.

    Args:
        running: the chain.
        names: the editor's session ids by the agent's, if they differ.
    """
    sessions = [
        {
            "id": known if names is None else names.get(known, known),
            "cwd": session.cwd,
            "mcp": [asdict(reach) for reach in reaches(running.sessions, known)],
        }
        for known, session in running.sessions.sessions.items()
        if names is None or known in names
    ]
    mods = [
        {"name": name, "latencyMs": None if latency is None else asdict(latency)}
        for name, latency in running.latencies
    ]
    return {"agent": running.agent_name, "mods": mods, "sessions": sessions}
