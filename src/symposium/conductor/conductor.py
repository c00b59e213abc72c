"""Owns one chain: begins it at the client's first request, watches its components, and ends it without loose ends."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from peerwire.acp.names import INITIALIZE
from peerwire.jsonrpc.errors import INVALID_REQUEST, RpcError
from peerwire.transports.transport import Transport
from symposium.conductor.blueprint import Instantiator
from symposium.conductor.call import Asker, Call, Step
from symposium.conductor.component import Answer, Crossing, Outcome, Refuse
from symposium.conductor.gate import SHUTTING_DOWN, Gate, is_flagged
from symposium.conductor.handshake import pin_version, select_version
from symposium.conductor.intake import Intake
from symposium.conductor.link import Link, PeerState, abandon, fail_serving
from symposium.conductor.running_chain import ChainSettings, RunningChain, overflow
from symposium.conductor.stage import Stage

_log = logging.getLogger(__name__)

QUIET_GRACE: Final = 1.0
"""Seconds that requests still open get to be answered once the client has ended."""

RELAY_GRACE: Final = 0.5
"""Seconds that the surviving components get to pass on the answer that a death has caused."""

CLOSE_GRACE: Final = 2.0
"""Seconds that a client which has stopped reading gets to take what waits for it."""


@dataclass(frozen=True, slots=True)
class Settings(ChainSettings):
    """How a conductor behaves.

    Attributes:
        is_proxy: whether it stands in an outer chain, whose conductor is its client and its successor.
    """

    is_proxy: bool = False


class Conductor:
    """One client, one chain. `run` owns every process and task of it."""

    def __init__(
        self, client: Transport, instantiate: Instantiator, settings: Settings | None = None
    ) -> None:
        self._settings = settings or Settings()
        self._instantiate = instantiate
        self._client = Link("client", client, self)
        self._client.state = PeerState.READY
        self._chain: RunningChain | None = None
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
            self._tasks = tasks
            self._stage = Stage(tasks, self, None)
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
            self._chain = chain = RunningChain(
                self._client, self._tasks, self._settings, self._died
            )
            self._entrance = entrance = await chain.start(self._instantiate, crossing, version)
        except RpcError as error:
            call.fail(error)
            return
        call.way = entrance
        entrance.take(crossing, call)

    def opened(self) -> None:
        """The chain has answered `initialize`: from now on it has the client's messages."""
        if self._chain is None or self._is_ending:
            return
        again = Refuse(RpcError(INVALID_REQUEST, "`initialize` has been answered already"))

        def refuse(_: Crossing) -> Outcome:
            return again

        self._entrance.steps[INITIALIZE] = (Step(0, refuse),)
        self._client.plain = self._entrance

    def opening_failed(self, error: RpcError) -> None:
        """The client has its error; a client may try again, a conductor above us may not (acp-host §2.2)."""
        if self._is_ending:
            return
        chain, self._chain = self._chain, None
        if chain is not None:
            self._exit_code = 1
            self._failure = None
            self._stage.start(chain.end())
        self._gate.refusal = error if self._settings.is_proxy else None

    # -- what happens to the client, and to the chain

    def link_ended(self, link: Link, error: Exception | None) -> None:
        """The client has written its last line."""
        del link, error
        self._over.set()

    def link_overflowed(self, link: Link) -> None:
        """The client reads nothing while much is written for it: it counts as gone."""
        overflow(link)
        self._over.set()

    def _died(self, death: RpcError) -> None:
        self._failure = self._failure or death
        self._exit_code = 1
        if self._client.plain is not self._gate:
            self._over.set()

    # -- the end

    async def _end(self) -> None:
        self._is_ending = True
        self._client.plain = self._gate
        self._gate.refusal = self._failure or SHUTTING_DOWN
        self._client.on_quiet = self._quiet.set
        if self._client.serving and self._chain is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_GRACE if self._failure is None else RELAY_GRACE):
                    await self._quiet.wait()
        fail_serving(self._client, self._failure or SHUTTING_DOWN)
        chain, self._chain = self._chain, None
        if chain is not None:
            await chain.end()
        await self._client.transport.aclose(grace=CLOSE_GRACE)
        abandon(self._client)
        self._stage.stop()


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
