"""Open and close the chain of one client."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from peerwire.acp.names import INITIALIZE, PROXY_INITIALIZE, Dialect
from peerwire.errors import INVALID_PARAMS, INVALID_REQUEST, ErrorBoundary, RpcError, rpc_error_of
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.transport import Transport
from peerwire.jsonrpc.values import as_object
from symposium.chain.blueprint import Instantiator
from symposium.chain.calls import SHUTTING_DOWN, ModCall, Step
from symposium.chain.handshake import flagged, is_flagged, pin_version, select_version, unflagged
from symposium.chain.intake import Intake
from symposium.chain.link import Link, PeerState, abandon, cancel_serving, fail_serving
from symposium.chain.messages import UNCHANGED, Answer, ChainMessage, Direction
from symposium.chain.mod import Drop, Outcome, Refuse
from symposium.chain.ordering import OrderedQueues
from symposium.chain.routing import Route, join
from symposium.chain.running_chain import ChainSettings, ComponentTasks, RunningChain, overflow

EXPECTED_INITIALIZE: Final = RpcError(
    INVALID_REQUEST, "expected `initialize` request", message="Invalid Request"
)
EXPECTED_PROXY_INITIALIZE: Final = RpcError(
    INVALID_REQUEST,
    "proxies must be initialized with `_proxy/initialize`",
    message="Invalid Request",
)
NOT_ANSWERED_YET: Final = RpcError(
    INVALID_REQUEST, "`initialize` has not been answered yet", message="Invalid Request"
)


class ClosedEnd:
    """Route end of a closed chain; messages to it are dropped."""

    def forward(self, message: Message, line: bytes) -> None:
        """Drop the message."""

    def notify(self, message: ChainMessage) -> None:
        """Drop the message."""

    def ask(self, call: ModCall) -> None:
        """Fail the call, because the chain is shutting down."""
        call.fail(SHUTTING_DOWN)

    def cancel(self, call: ModCall) -> None:
        """Do nothing: no request was forwarded."""


class ClosedRoute(Route):
    """The client's route while no chain is open.

    Attributes:
        refusal: error for every request but the expected one; None before the first request.
    """

    is_open = False

    def __init__(
        self,
        queues: tuple[OrderedQueues, OrderedQueues],
        *,
        is_proxy: bool,
        on_initialize: Callable[[ModCall], None],
    ) -> None:
        super().__init__(Direction.TO_AGENT, (), ClosedEnd(), queues[0])
        join(self, Route(Direction.TO_CLIENT, (), ClosedEnd(), queues[1]))
        # Not idle, so that every message takes the checked path.
        self.other = (Step(0, _stop),)
        self.refusal: RpcError | None = None
        self._is_proxy = is_proxy
        self._on_initialize = on_initialize

    def take(self, message: ChainMessage, call: ModCall | None = None, *, after: int = -1) -> None:
        """Start with `initialize`, or reject the request; drop notifications."""
        del after
        if call is None:
            return
        if self.refusal is not None:
            call.fail(self.refusal)
        elif self._is_initialize(message):
            self.refusal = NOT_ANSWERED_YET
            self._on_initialize(call)
        else:
            self.refusal = EXPECTED_PROXY_INITIALIZE if self._is_proxy else EXPECTED_INITIALIZE
            call.fail(self.refusal)

    def _is_initialize(self, message: ChainMessage) -> bool:
        if not self._is_proxy:
            return message.method == INITIALIZE
        return message.method in PROXY_INITIALIZE or (
            message.method == INITIALIZE and is_flagged(message.params)
        )


def _stop(_: ChainMessage) -> Outcome:
    return Drop()


_log = logging.getLogger(__name__)


class ChainOpening:
    """Initialization of a chain, until the client has its response.

    Attributes:
        call: the client's request.
        chain: the chain.
        is_started: whether starting the components is complete, successful or not.
    """

    def __init__(self, call: ModCall, chain: RunningChain, owner: "Conductor") -> None:
        self.call = call
        self.chain = chain
        self.is_started = False
        self._asker = call.asker
        self._owner = owner
        self._marks_answer = False
        call.asker = self

    async def run(self, instantiate: Instantiator) -> None:
        """Start the components and send `initialize` to the first one."""
        call = self.call
        entrance: Route | None = None
        with ErrorBoundary() as caught:
            version = self._select()
            entrance = await self.chain.start(instantiate, call.message, version)
        self.is_started = True
        if call.is_settled:
            # Canceled, or a component exited: the client no longer waits for this chain.
            await self.chain.end()
        elif (error := caught.error) is not None:
            if not isinstance(error, RpcError):
                _log.error("the chain could not be made", exc_info=error)
            call.fail(rpc_error_of(error, {"reason": "chain_not_made"}))
        elif entrance is not None:
            call.route = entrance
            entrance.take(call.message, call)

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Let the owner open or stop the chain, then answer the client."""
        answer = self.chain.checked(answer)
        if answer.error is not None:
            self._owner.opening_failed(self, answer.error)
        else:
            if isinstance(call.route, Route):
                self._owner.opened(self, call.route)
            # After the answer, which must precede messages of the mods.
            asyncio.get_running_loop().call_soon(self.chain.opened)
            if self._marks_answer:
                answer = Answer(value=flagged(as_object(answer.result)))
        self._asker.on_answer(call, answer)

    def _select(self) -> int:
        """Convert the request to its canonical form; returns the selected version.

        Raises:
            RpcError: the version is missing or unsupported.
        """
        message = self.call.message
        params = _params(message)
        if message.method != INITIALIZE:
            message.replace(method=INITIALIZE, params=UNCHANGED)
        elif is_flagged(params):
            self._marks_answer = True
            message.replace(method=None, params=unflagged(params))
        version = select_version(params)
        pin_version(message, version)
        return version


def shown_dialect(message: ChainMessage) -> Dialect | None:
    """Version shown by an outer conductor's `initialize`; None for an ordinary client."""
    if message.method in PROXY_INITIALIZE:
        return PROXY_INITIALIZE[message.method]
    return Dialect.PACP_SPLIT if is_flagged(_params(message)) else None


def _params(message: ChainMessage) -> Any:
    try:
        return message.params
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


QUIET_GRACE: Final = 1.0
"""Default seconds for answers to open requests after the client's end."""

RELAY_GRACE: Final = 0.5
"""Seconds for the other components to deliver error answers after an exit."""

CLOSE_GRACE: Final = 2.0
"""Seconds for a client that stopped reading to receive the remaining messages."""

ALREADY_ANSWERED: Final = RpcError(INVALID_REQUEST, "`initialize` has been answered already")


class Settings(ChainSettings, frozen=True):
    """Settings of a conductor.

    Attributes:
        is_proxy: whether it is part of an outer chain, whose conductor is client and successor.
        quiet_grace: seconds for answers to open requests after the client's end.
    """

    is_proxy: bool = False
    quiet_grace: float = QUIET_GRACE


class Conductor:
    """Serve one client with one chain; `run` owns all its processes and tasks.

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
        self._opening: ChainOpening | None = None
        self._chain: RunningChain | None = None
        self._exit_code = 0
        self._failure: RpcError | None = None
        self._over = asyncio.Event()
        self._is_ending = False
        self._grace = self._settings.quiet_grace
        self._endings: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Serve the client until it or a component ends.

        Returns:
            The exit code: 0 when the client ended, 1 when a component failed.
        """
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._stage = ComponentTasks(tasks, self, None)
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
        """The open chain; None before the response to `initialize`."""
        return self._chain

    def _new_gate(self) -> ClosedRoute:
        queues = (self._stage.queues_for(self.client), self._stage.queues_for(self.client))
        return ClosedRoute(queues, is_proxy=self._settings.is_proxy, on_initialize=self._initialize)

    def _initialize(self, call: ModCall) -> None:
        if self._settings.is_proxy:
            self.client.dialect = shown_dialect(call.message) or self.client.dialect
        self._exit_code, self._failure = 0, None
        chain = RunningChain(self.client, self._tasks, self._settings, self._died)
        self._opening = ChainOpening(call, chain, self)
        self._stage.start(self._opening.run(self._instantiate))

    def opened(self, opening: ChainOpening, entrance: Route) -> None:
        """Give the chain the client's messages: it answered `initialize`."""
        if self._is_ending:
            return
        self._opening, self._chain = None, opening.chain
        again = Refuse(ALREADY_ANSWERED)

        def refuse(_: ChainMessage) -> Outcome:
            return again

        methods = (INITIALIZE, *PROXY_INITIALIZE) if self._settings.is_proxy else (INITIALIZE,)
        for method in methods:
            entrance.steps[method] = (Step(0, refuse, "conductor"),)
        self.client.plain = entrance
        if opening.chain.failure is not None:
            # A component exited while a mod held the answer.
            self._died(opening.chain.failure)

    def opening_failed(self, opening: ChainOpening, error: RpcError) -> None:
        """Let an ordinary client retry; end if an outer conductor is the client (§2.2)."""
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

    def link_ended(self, link: Link, error: Exception | None) -> None:
        """Handle the client's end."""
        del link, error
        self._over.set()

    def link_overflowed(self, link: Link) -> None:
        """Treat the client as disconnected: it does not read."""
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
            # When canceled, do not wait for answers, but still stop every process.
            if chain is not None:
                await chain.end()
            raise
        finally:
            await self.client.transport.aclose(grace=CLOSE_GRACE)
            abandon(self.client)
            self._stage.stop()

    async def _settle_open_requests(self, error: RpcError) -> None:
        """Wait for answers to open requests for a while, then answer with an error."""
        if self._failure is None:
            await self._wait_until_quiet(self._grace)
            cancel_serving(self.client)
            await self._wait_until_quiet(self._grace / 2)
        else:
            await self._wait_until_quiet(RELAY_GRACE)
        fail_serving(self.client, error)

    async def _wait_until_quiet(self, grace: float) -> None:
        """Wait for answers to open requests for a while."""
        if not self.client.open or (self._chain is None and self._opening is None):
            return
        quiet = asyncio.Event()
        self.client.on_quiet = quiet.set
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await quiet.wait()
