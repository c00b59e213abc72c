"""Owns one chain: begins it at the client's first request, watches its components, and ends it without loose ends."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final

from peerwire.acp.names import INITIALIZE
from peerwire.errors import TransportError
from peerwire.jsonrpc.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from peerwire.transports.process import ProcessExitedError
from peerwire.transports.transport import Transport
from symposium.conductor.assembly import Assembly, Watcher, Workshop, assemble
from symposium.conductor.blueprint import Instantiator
from symposium.conductor.chain import Asker, Call, Step
from symposium.conductor.component import Answer, Crossing, Outcome, Refuse
from symposium.conductor.gate import SHUTTING_DOWN, Gate, is_flagged
from symposium.conductor.handshake import INITIALIZE_TIMEOUT, Selection, pin_version, select_version
from symposium.conductor.intake import Intake
from symposium.conductor.link import Link, PeerState, abandon, fail_asked, fail_serving
from symposium.conductor.stage import Stage, contained

_log = logging.getLogger(__name__)

QUIET_GRACE: Final = 1.0
"""Seconds that requests still open get to be answered once the client has ended."""

RELAY_GRACE: Final = 0.5
"""Seconds that the surviving components get to pass on the answer that a death has caused."""

CLOSE_GRACE: Final = 2.0
"""Seconds that a client which has stopped reading gets to take what waits for it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a conductor behaves.

    Attributes:
        is_proxy: whether it stands in an outer chain, whose conductor is its client and its successor.
        initialize_timeout: seconds for each component's greeting.
        watcher: records every leg, if the chain is traced.
        on_stderr: takes each line of a component's standard error, with its name.
    """

    is_proxy: bool = False
    initialize_timeout: float = INITIALIZE_TIMEOUT
    watcher: Watcher | None = None
    on_stderr: Callable[[str, bytes], None] | None = None


class Conductor:
    """One client, one chain. `run` owns every process and task of it."""

    def __init__(
        self, client: Transport, instantiate: Instantiator, settings: Settings | None = None
    ) -> None:
        self._settings = settings or Settings()
        self._instantiate = instantiate
        self._client = Link("client", client, self)
        self._client.state = PeerState.READY
        self._assembly: Assembly | None = None
        self._exit_code = 0
        self._failure: RpcError | None = None
        self._over = asyncio.Event()
        self._quiet = asyncio.Event()
        self._is_ending = False

    async def run(self) -> int:
        """Serve the client until it ends or a component dies.

        Returns:
            The exit code: 0 when the client ended, 1 when a component failed.
        """
        async with asyncio.TaskGroup() as tasks:
            self._stage = Stage(tasks, self, self._settings.on_stderr)
            self._gate = self._new_gate()
            self._client.plain = self._gate
            self._client.transport.start(Intake(self._client))
            try:
                await self._over.wait()
            finally:
                await self._end()
        return self._exit_code

    # -- the beginning

    def _new_gate(self) -> Gate:
        lanes = (self._stage.lanes(self._client), self._stage.lanes(self._client))
        return Gate(lanes, is_proxy=self._settings.is_proxy, on_initialize=self._initialize)

    def _initialize(self, call: Call) -> None:
        self._stage.start(self._begin(call))

    async def _begin(self, call: Call) -> None:
        opening = _Opening(
            call.asker, self, mark=call.crossing.method == INITIALIZE and self._settings.is_proxy
        )
        call.asker = opening
        crossing = call.crossing
        if crossing.method != INITIALIZE:
            crossing.replace(method=INITIALIZE, params=crossing.params)
        elif is_flagged(crossing.params):
            crossing.replace(method=None, params=_unflagged(crossing.params))
        try:
            version = select_version(crossing.params)
            pin_version(crossing, version)
            entrance = await self._assemble(crossing, version)
        except RpcError as error:
            call.fail(error)
            return
        call.way = entrance
        entrance.take(crossing, call)

    async def _assemble(self, crossing: Crossing, version: int) -> Any:
        blueprint = self._instantiate(crossing.params)
        if isawaitable(blueprint):
            blueprint = await blueprint
        if blueprint.params is not None:
            crossing.replace(method=None, params=blueprint.params)
        workshop = Workshop(
            self._client,
            self._stage.open_link,
            self._stage.lanes,
            Selection(version, self._settings.initialize_timeout),
            self._settings.watcher,
        )
        self._client.feeders.clear()
        self._client.writers.clear()
        self._assembly = assembly = assemble(workshop, blueprint)
        for link in assembly.links:
            link.transport.start(Intake(link))
        for component in assembly.mods:
            self._stage.start_mod(component)
        return assembly.entrance

    def opened(self) -> None:
        """The chain has answered `initialize`: from now on it has the client's messages."""
        assembly = self._assembly
        if assembly is None or self._is_ending:
            return
        again = Refuse(RpcError(INVALID_REQUEST, "`initialize` has been answered already"))

        def refuse(_: Crossing) -> Outcome:
            return again

        assembly.entrance.steps[INITIALIZE] = (Step(0, refuse),)
        self._client.plain = assembly.entrance

    def opening_failed(self, error: RpcError) -> None:
        """The client has its error; a client may try again, a conductor above us may not (acp-host §2.2)."""
        if self._is_ending:
            return
        assembly, self._assembly = self._assembly, None
        if assembly is not None:
            self._exit_code = 1
            self._stage.start(self._dismantle(assembly))
        self._gate.refusal = error if self._settings.is_proxy else None

    # -- what happens to links

    def link_ended(self, link: Link, error: Exception | None) -> None:
        """A peer has written its last line: the client's end is ours; a component's is a failure."""
        if link is self._client:
            self._over.set()
            return
        alive = link.state not in {PeerState.DRAINING, PeerState.CLOSED}
        if (
            not alive
            or self._is_ending
            or self._assembly is None
            or link not in self._assembly.links
        ):
            link.state = PeerState.CLOSED
            fail_asked(link, self._failure or SHUTTING_DOWN)
            return
        self._component_died(link, _death(link, self._assembly.links.index(link), error))

    def link_overflowed(self, link: Link) -> None:
        """A peer reads nothing while much is written for it: it counts as gone."""
        error = TransportError(f"{link.name} has stopped reading, and too much waits for it")
        _log.error("%s", error)
        asyncio.get_running_loop().call_soon(self.link_ended, link, error)

    def _component_died(self, link: Link, error: RpcError) -> None:
        _log.error("component %s is gone: %s", link.name, error.data)
        link.state = PeerState.FAILED
        link.failure = error
        self._failure = self._failure or error
        self._exit_code = 1
        fail_asked(link, error)
        abandon(link)
        if self._client.plain is not self._gate:
            self._over.set()

    # -- the end

    async def _end(self) -> None:
        self._is_ending = True
        self._client.plain = self._gate
        self._gate.refusal = self._failure or SHUTTING_DOWN
        self._client.on_quiet = self._quiet.set
        if self._client.serving and self._assembly is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_GRACE if self._failure is None else RELAY_GRACE):
                    await self._quiet.wait()
        fail_serving(self._client, self._failure or SHUTTING_DOWN)
        assembly, self._assembly = self._assembly, None
        if assembly is not None:
            await self._dismantle(assembly)
        await self._client.transport.aclose(grace=CLOSE_GRACE)
        abandon(self._client)
        self._stage.stop()

    async def _dismantle(self, assembly: Assembly) -> None:
        """End the components: the agent first, so that what it still says can pass those before it."""
        for link in assembly.links:
            if link.state is not PeerState.FAILED:
                link.state = PeerState.DRAINING
        await _close(assembly.links[-1:])
        await _close(assembly.links[:-1])
        for link in assembly.links:
            fail_asked(link, self._failure or SHUTTING_DOWN)
            abandon(link)
            link.state = PeerState.CLOSED
        for component in assembly.mods:
            await contained(component.name, component.mod.aclose())


class _Opening:
    """Whoever asked `initialize`: the conductor learns how it went before the client does."""

    def __init__(self, asker: Asker, conductor: Conductor, *, mark: bool) -> None:
        self._asker = asker
        self._conductor = conductor
        self._mark = mark

    def answered(self, call: Call, answer: Answer) -> None:
        """Open the chain, or give up on it; then answer."""
        if answer.error is not None:
            self._conductor.opening_failed(answer.error)
        else:
            self._conductor.opened()
            if self._mark:
                result = answer.result
                answer = Answer(
                    value={**result, "_meta": {**(result.get("_meta") or {}), "proxy": True}}
                )
        self._asker.answered(call, answer)


def _unflagged(params: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in params["_meta"].items() if name != "proxy"}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


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
    async with asyncio.TaskGroup() as tasks:
        for link in links:
            tasks.create_task(link.transport.aclose())
