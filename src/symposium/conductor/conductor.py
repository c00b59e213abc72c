"""Owns one chain: begins it at the client's first request, and ends it without loose ends."""

import asyncio
from contextlib import suppress
from typing import Final

from peerwire.acp.names import INITIALIZE, PROXY_INITIALIZE
from peerwire.errors import INVALID_REQUEST, RpcError
from peerwire.jsonrpc.transport import Transport
from symposium.conductor.blueprint import Instantiator
from symposium.conductor.call import Call, Step
from symposium.conductor.chain import Way
from symposium.conductor.component import Crossing, Outcome, Refuse
from symposium.conductor.gate import SHUTTING_DOWN, Gate
from symposium.conductor.intake import Intake
from symposium.conductor.link import Link, PeerState, abandon, cancel_serving, fail_serving
from symposium.conductor.opening import Opening, shown_dialect
from symposium.conductor.running_chain import ChainSettings, RunningChain, overflow
from symposium.conductor.stage import Stage

QUIET_GRACE: Final = 1.0
"""Seconds that requests still open get to be answered once the client has ended, if not set."""

RELAY_GRACE: Final = 0.5
"""Seconds that the surviving components get to pass on the answer that a death has caused."""

CLOSE_GRACE: Final = 2.0
"""Seconds that a client which has stopped reading gets to take what waits for it."""

ALREADY_ANSWERED: Final = RpcError(INVALID_REQUEST, "`initialize` has been answered already")


class Settings(ChainSettings, frozen=True):
    """How a conductor behaves.

    Attributes:
        is_proxy: whether it stands in an outer chain, whose conductor is its client and successor.
        quiet_grace: seconds that open requests get to be answered once the client has ended.
    """

    is_proxy: bool = False
    quiet_grace: float = QUIET_GRACE


class Conductor:
    """One client, one chain. `run` owns every process and task of it.

    Attributes:
        client: the link to the client.
    """

    def __init__(
        self, client: Transport, instantiate: Instantiator, settings: Settings | None = None
    ) -> None:
        self._settings = settings or Settings()
        self._instantiate = instantiate
        self.client = Link("client", client, self)
        self.client.state = PeerState.READY
        self._opening: Opening | None = None
        self._chain: RunningChain | None = None
        self._exit_code = 0
        self._failure: RpcError | None = None
        self._over = asyncio.Event()
        self._is_ending = False
        self._grace = self._settings.quiet_grace
        self._endings: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Serve the client until it ends or a component dies.

        Returns:
            The exit code: 0 when the client ended, 1 when a component failed.
        """
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._stage = Stage(tasks, self, None)
            self._gate = self._new_gate()
            self.client.plain = self._gate
            self.client.transport.start(Intake(self.client))
            try:
                await self._over.wait()
            except asyncio.CancelledError:
                self._grace = 0.0
                raise
            finally:
                await self._end()
        return self._exit_code

    @property
    def chain(self) -> RunningChain | None:
        """The chain that serves the client; None before `initialize` is answered."""
        return self._chain

    # -- the beginning

    def _new_gate(self) -> Gate:
        lanes = (self._stage.lanes(self.client), self._stage.lanes(self.client))
        return Gate(lanes, is_proxy=self._settings.is_proxy, on_initialize=self._initialize)

    def _initialize(self, call: Call) -> None:
        if self._settings.is_proxy:
            self.client.dialect = shown_dialect(call.crossing) or self.client.dialect
        self._exit_code, self._failure = 0, None
        chain = RunningChain(self.client, self._tasks, self._settings, self._died)
        self._opening = Opening(call, chain, self)
        self._stage.start(self._opening.run(self._instantiate))

    def opened(self, opening: Opening, entrance: Way) -> None:
        """The chain has answered `initialize`: from now on it has the client's messages."""
        if self._is_ending:
            return
        self._opening, self._chain = None, opening.chain
        again = Refuse(ALREADY_ANSWERED)

        def refuse(_: Crossing) -> Outcome:
            return again

        greetings = (INITIALIZE, *PROXY_INITIALIZE) if self._settings.is_proxy else (INITIALIZE,)
        for method in greetings:
            entrance.steps[method] = (Step(0, refuse, "conductor"),)
        self.client.plain = entrance
        if opening.chain.failure is not None:
            # A component has died while a mod held the answer back.
            self._died(opening.chain.failure)

    def opening_failed(self, opening: Opening, error: RpcError) -> None:
        """The client has its error and may try again; a conductor above us may not (§2.2)."""
        self._exit_code = 1
        if self._is_ending:
            return
        self._opening = None
        if opening.is_started:
            self._end_later(opening.chain)
        self._gate.refusal = error if self._settings.is_proxy else None

    def _end_later(self, chain: RunningChain) -> None:
        ending = self._tasks.create_task(chain.end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    # -- what happens to the client, and to the chain

    def link_ended(self, link: Link, error: Exception | None) -> None:
        """The client has written its last line."""
        del link, error
        self._over.set()

    def link_overflowed(self, link: Link) -> None:
        """The client reads nothing while much is written for it: it counts as gone."""
        if not self._over.is_set():
            overflow(link)
            self._over.set()

    def _died(self, death: RpcError) -> None:
        self._exit_code = 1
        if self._opening is not None:
            self._opening.call.fail(death)
        elif self._chain is not None:
            self._failure = self._failure or death
            self._over.set()

    # -- the end

    async def _end(self) -> None:
        self._is_ending = True
        error = self._failure or SHUTTING_DOWN
        self.client.plain = self._gate
        self._gate.refusal = error
        chain = self._chain or (None if self._opening is None else self._opening.chain)
        try:
            await self._settle_open_requests(error)
            if chain is not None:
                await chain.end()
            if self._endings:
                await asyncio.wait(self._endings)
        except asyncio.CancelledError:
            # Whoever is in a hurry waits for no answers, but leaves no process behind either.
            if chain is not None:
                await chain.end()
            raise
        finally:
            await self.client.transport.aclose(grace=CLOSE_GRACE)
            abandon(self.client)
            self._stage.stop()

    async def _settle_open_requests(self, error: RpcError) -> None:
        """Let what is open be answered, for a while; then answer it."""
        if self._failure is None:
            await self._wait_until_quiet(self._grace)
            cancel_serving(self.client)
            await self._wait_until_quiet(self._grace / 2)
        else:
            await self._wait_until_quiet(RELAY_GRACE)
        fail_serving(self.client, error)

    async def _wait_until_quiet(self, grace: float) -> None:
        """Let what is open be answered, for a while."""
        if not self.client.open or (self._chain is None and self._opening is None):
            return
        quiet = asyncio.Event()
        self.client.on_quiet = quiet.set
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await quiet.wait()
