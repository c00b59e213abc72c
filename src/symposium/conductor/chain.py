"""Where a message goes next between two ends of the wire; pure: no I/O, no tasks, no clock.

A *span* lies between two links and holds the in-process mods between them. Each of its two directions is a `Way`. A
chain without out-of-process mods is one span; each out-of-process mod divides it in two.

            ┌──────────── span ────────────┐
    link ═══╡ way to agent:  mod → mod →   ╞═══ link
            │ way to client: ← mod ← mod   │
            └──────────────────────────────┘
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.errors import INTERNAL_ERROR, REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.messages import Message
from symposium.conductor.component import (
    EVERY_METHOD,
    UNCHANGED,
    Answer,
    Crossing,
    Direction,
    Forward,
    Handler,
    Interception,
    Outcome,
    Refuse,
    Reply,
    Revision,
    Then,
)
from symposium.conductor.lanes import Item, Key, Lanes, Started

_log = logging.getLogger(__name__)


class Asker(Protocol):
    """Whoever asked: a peer over its link, or a mod."""

    def answered(self, call: "Call", answer: Answer) -> None:
        """Take the answer; called exactly once for each call."""
        ...


class Call:
    """One request on its way: who asked, which mods wait for its answer, and where it went.

    Attributes:
        crossing: the request as it travels.
        asker: who gets the answer.
        request_id: the JSON text of the asker's id.
        way: the direction it travels; its answer returns on `way.back`.
    """

    __slots__ = (
        "asker",
        "crossing",
        "far_id",
        "is_answered",
        "is_cancelled",
        "is_settled",
        "request_id",
        "rest",
        "thens",
        "way",
    )

    def __init__(self, crossing: Crossing, asker: Asker, request_id: bytes, way: "Way") -> None:
        self.crossing = crossing
        self.asker = asker
        self.request_id = request_id
        self.way = way
        self.thens: list[Forward] = []
        self.far_id: bytes | None = None
        self.rest: Started | None = None
        self.is_cancelled = False
        self.is_settled = False
        self.is_answered = False

    def settle(self, answer: Answer) -> None:
        """Send the answer back through the mods that wait for it; a second answer is dropped."""
        if self.is_settled:
            return
        self.is_settled = True
        self.way.back.carry_back(self, answer)

    def fail(self, error: RpcError) -> None:
        """Settle with an error."""
        self.settle(Answer(error=error))

    def give(self, answer: Answer) -> None:
        """Hand the answer to whoever asked; the last step of its way back."""
        if not self.is_answered:
            self.is_answered = True
            self.asker.answered(self, answer)

    def started(self, rest: Started) -> None:
        """A mod takes its time over the request; it can be cancelled meanwhile, also before its first step."""
        self.rest = rest
        rest.add_done_callback(
            lambda task: self.fail(RpcError(REQUEST_CANCELLED)) if task.cancelled() else None
        )

    def cancel(self) -> None:
        """Ask whoever works on this to stop; the answer is owed all the same (acp-host §1.8)."""
        if self.is_cancelled or self.is_settled:
            return
        self.is_cancelled = True
        for passed in self.thens:
            if passed.cancelled is not None:
                passed.cancelled()
        if self.far_id is not None:
            self.way.far.cancel(self)
        elif self.rest is not None:
            self.rest.cancel()


class End(Protocol):
    """Where a way ends: something that takes messages on, mostly a link."""

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched, as the line it came in."""
        ...

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        ...

    def ask(self, call: Call) -> None:
        """Take a request; settle the call when its answer is there."""
        ...

    def cancel(self, call: Call) -> None:
        """Tell whoever was asked that the answer is not wanted any more."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One handler on a way, at its mod's position along it."""

    position: int
    handler: Handler


class Way:
    """One direction of a span: the mods that a message meets, in order, and its far end.

    Attributes:
        steps: for a method that some mod intercepts, the handlers it meets.
        other: the handlers that any other method meets; mostly none.
        lanes: what is parked on the way.
        far: where it ends.
        back: the other direction of the same span.
    """

    back: "Way"

    def __init__(
        self, direction: Direction, mods: "Sequence[Sequence[Interception]]", far: End, lanes: Lanes
    ) -> None:
        self.direction = direction
        self.far = far
        self.lanes = lanes
        self.steps: dict[str, tuple[Step, ...]] = {}
        wanted = [
            (position, interception)
            for position, interceptions in enumerate(mods)
            for interception in interceptions
            if interception.direction is direction
        ]
        self.other = _steps_for(EVERY_METHOD, wanted)
        for method in {interception.method for _, interception in wanted} - {EVERY_METHOD}:
            self.steps[method] = _steps_for(method, wanted)

    def take(self, crossing: Crossing, call: Call | None = None, *, after: int = -1) -> None:
        """Carry a message on from behind the mod at position `after`; requests come with their call."""
        steps = self.steps.get(crossing.method, self.other)
        on_start = _ignore if call is None else call.started
        if self.lanes.idle:
            rest = self._go(crossing, call, steps, after)
            if rest is not None:
                self.lanes.park(Item(session_key(crossing), 0, _never, on_start), rest)
            return
        size = 0 if crossing.body is UNSET else memoryview(crossing.body).nbytes
        go = lambda: self._go(crossing, call, steps, after)  # noqa: E731
        self.lanes.enter(Item(session_key(crossing), size, go, on_start))

    def carry_back(self, call: Call, answer: Answer) -> None:
        """Carry an answer to whoever asked, through the mods that wait for it, behind what was sent before it."""
        if self.lanes.idle and not call.thens:
            call.give(answer)
            return
        size = 0 if answer.body is UNSET else memoryview(answer.body).nbytes

        def give_if_stopped(task: Started) -> None:
            task.add_done_callback(lambda ended: call.give(answer) if ended.cancelled() else None)

        self.lanes.enter(
            Item(
                session_key(call.crossing),
                size,
                lambda: self._go_back(call, answer),
                give_if_stopped,
            )
        )

    # -- towards the far end

    def _go(
        self, crossing: Crossing, call: Call | None, steps: tuple[Step, ...], after: int
    ) -> Coroutine[Any, Any, None] | None:
        if call is not None and call.is_cancelled:
            call.fail(RpcError(REQUEST_CANCELLED))
            return None
        for at, step in enumerate(steps):
            if step.position <= after:
                continue
            outcome = _guarded(step.handler, crossing, crossing)
            if type(outcome) is not Forward and isawaitable(outcome):
                return self._rest(crossing, call, steps[at:], outcome)
            if not _apply(outcome, crossing, call):
                return None
        self._deliver(crossing, call)
        return None

    async def _rest(
        self, crossing: Crossing, call: Call | None, steps: tuple[Step, ...], first: Any
    ) -> None:
        for at, step in enumerate(steps):
            outcome = first if at == 0 else _guarded(step.handler, crossing, crossing)
            if type(outcome) is not Forward and isawaitable(outcome):
                outcome = await _guarded_wait(outcome, crossing)
            if not _apply(outcome, crossing, call):
                return
        self._deliver(crossing, call)

    def _deliver(self, crossing: Crossing, call: Call | None) -> None:
        if call is None:
            self.far.notify(crossing)
        elif call.is_cancelled:
            call.fail(RpcError(REQUEST_CANCELLED))
        else:
            self.far.ask(call)

    # -- back to whoever asked

    def _go_back(self, call: Call, answer: Answer) -> Coroutine[Any, Any, None] | None:
        while call.thens:
            revision = _guarded(_interested(call.thens.pop(), answer), answer, call.crossing)
            if isawaitable(revision):
                return self._rest_back(call, answer, revision)
            answer = _revise(answer, revision)
        call.give(answer)
        return None

    async def _rest_back(self, call: Call, answer: Answer, first: Any) -> None:
        revision = await _guarded_wait(first, call.crossing)
        answer = _revise(answer, revision)
        while call.thens:
            revision = _guarded(_interested(call.thens.pop(), answer), answer, call.crossing)
            if isawaitable(revision):
                revision = await _guarded_wait(revision, call.crossing)
            answer = _revise(answer, revision)
        call.give(answer)


def _steps_for(method: str, wanted: list[tuple[int, Interception]]) -> tuple[Step, ...]:
    return tuple(
        Step(position, interception.handler)
        for position, interception in wanted
        if interception.method in {method, EVERY_METHOD}
    )


def _apply(outcome: Any, crossing: Crossing, call: Call | None) -> bool:
    """Do what a mod said; whether the message travels on."""
    if type(outcome) is Forward:
        if outcome.params is not UNCHANGED or outcome.method is not None:
            crossing.replace(method=outcome.method, params=outcome.params)
        if call is not None and (outcome.then is not None or outcome.catch is not None):
            call.thens.append(outcome)
        return True
    if call is not None:
        call.settle(_answer_of(outcome, crossing.method))
    return False


def _answer_of(outcome: Any, method: str) -> Answer:
    match outcome:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            return Answer(
                error=RpcError(INTERNAL_ERROR, f"a mod let {method} end without an answer")
            )


def _interested(waiting: Forward, answer: Answer) -> Then:
    interested = waiting.then if answer.error is None else waiting.catch
    return _leave if interested is None else interested


def _leave(answer: Answer) -> Revision:
    del answer


def _revise(answer: Answer, revision: Any) -> Answer:
    match revision:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            return answer


def _guarded(handler: Callable[[Any], Any], argument: Crossing | Answer, crossing: Crossing) -> Any:
    """What a mod makes of a message or an answer; a mod's fault is told as ours, not the peer's (acp-host §1.6)."""
    try:
        return handler(argument)
    except Exception as error:  # noqa: BLE001 - the chain's boundary
        return _outcome_of_fault(error, crossing)


async def _guarded_wait(outcome: Awaitable[Any], crossing: Crossing) -> Any:
    try:
        return await outcome
    except Exception as error:  # noqa: BLE001 - the chain's boundary
        return _outcome_of_fault(error, crossing)


def _outcome_of_fault(error: Exception, crossing: Crossing) -> Outcome:
    if not isinstance(error, RpcError):
        _log.error("a mod failed on %s", crossing.method, exc_info=error)
        reason = f"a mod failed on {crossing.method}: {error or type(error).__name__}"
        error = RpcError(INTERNAL_ERROR, reason)
    # A notification has nobody to tell: it travels on as it came, rather than be lost with the mod's fault.
    return Refuse(error) if crossing.is_request else Forward()


class _Scope(Struct, gc=False):
    sessionId: Raw | UnsetType = UNSET  # noqa: N815 - the wire's name


_decode_scope = msgspec.json.Decoder(_Scope).decode

_NO_SESSION: Final = None


def session_key(crossing: Crossing) -> Key:
    """The session that a message belongs to, as the lanes know it; None where it names none."""
    if crossing.body is UNSET:
        session = crossing.session_id
        return _NO_SESSION if session is None else msgspec.json.encode(session)
    try:
        session = _decode_scope(crossing.body).sessionId
    except msgspec.DecodeError:
        return _NO_SESSION
    return _NO_SESSION if session is UNSET else bytes(session)


def join(to_agent: Way, to_client: Way) -> None:
    """Make two ways the directions of one span."""
    to_agent.back = to_client
    to_client.back = to_agent


def _ignore(_: Started) -> None:
    """Nobody asks after a notification's task."""


def _never() -> None:
    """The item is on its way already; nothing is left to start."""
