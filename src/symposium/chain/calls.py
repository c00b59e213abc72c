"""One request in flight, and the outcomes of mods, checked and guarded."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from msgspec import UNSET, Struct

from peerwire.errors import INTERNAL_ERROR, REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.messages import Message
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Handler, Outcome, Refuse, Reply
from symposium.chain.ordering import Started

FAULTS: Final = "symposium.mods"
"""The logger of what mods do wrong: shown to whoever asked for no log, too."""

_log = logging.getLogger(FAULTS)


def guarded(
    mod: str, function: Callable[[Any], Any], argument: object, crossing: ChainMessage
) -> Any:
    """What a function of a mod returns; its fault is told as ours, not the peer's (§1.6)."""
    try:
        return function(argument)
    except Exception as error:  # noqa: BLE001 - the mods' boundary: what is called at once
        return _outcome_of_fault(mod, error, crossing)


async def guarded_wait(mod: str, outcome: Awaitable[Any], crossing: ChainMessage) -> Any:
    """What a coroutine of a mod returns, with the same care."""
    try:
        return await outcome
    except Exception as error:  # noqa: BLE001 - the mods' boundary: what takes its time
        return _outcome_of_fault(mod, error, crossing)


def _outcome_of_fault(mod: str, error: Exception, crossing: ChainMessage) -> Outcome:
    if not isinstance(error, RpcError):
        _log.error("mod %s failed on %s", mod, crossing.method, exc_info=error)
        fault = str(error) or type(error).__name__
        data = {"reason": "mod_failed", "mod": mod, "method": crossing.method, "fault": fault}
        error = RpcError(INTERNAL_ERROR, data)
    # A notification has nobody to tell: it goes on as it came, not lost with the mod's fault.
    return Refuse(error) if crossing.is_request else Forward()


def checked_outcome(mod: str, outcome: Any, crossing: ChainMessage) -> Any:
    """What becomes of a notification; one that a mod returns nothing for travels on as it came."""
    if outcome is not None or crossing.is_request:
        return outcome
    _log.error("mod %s returned nothing for %s; it must say Forward or Drop", mod, crossing.method)
    return Forward()


def answer_of(mod: str, outcome: object, crossing: ChainMessage) -> Answer:
    """The answer that a mod gives to a request."""
    match outcome:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            data = {"reason": "mod_gave_no_answer", "mod": mod, "method": crossing.method}
            return Answer(error=RpcError(INTERNAL_ERROR, data))


def revised(answer: Answer, revision: object) -> Answer:
    """What a mod makes of an answer."""
    match revision:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            return answer


def writable(answer: Answer, crossing: ChainMessage) -> Answer:
    """The same answer, sure to have a JSON form; where a mod made one that has none, an error."""
    fault = guarded("that answered", Answer.encode, answer, crossing)
    return Answer(error=fault.error) if isinstance(fault, Refuse) else answer


def fault_of(encoded: object) -> RpcError | None:
    """What was wrong with params that mods have made; None where they have a JSON form."""
    if isinstance(encoded, bytes):
        return None
    match encoded:
        case Refuse(error):
            return error
        case Forward():
            return RpcError(INTERNAL_ERROR)
        case _:
            return None


BEFORE_ALL: Final = -1
"""The place of a link: before the first mod of the way that its messages take."""


def pass_through(_: ChainMessage) -> Forward:
    """Stands for the handler of a mod that has none, where its lane is to be kept."""
    return Forward()


class Step(Struct, frozen=True):
    """One mod on a way: its position, its handler for a method, and its name."""

    position: int
    handler: Handler
    mod: str = ""


class RouteEnd(Protocol):
    """Where a way ends: something that takes messages on, mostly a link."""

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched, as the line it came in."""
        ...

    def notify(self, crossing: ChainMessage) -> None:
        """Take a notification."""
        ...

    def ask(self, call: "ModCall") -> None:
        """Take a request; settle the call when its answer is there."""
        ...

    def cancel(self, call: "ModCall") -> None:
        """Tell whoever was asked that the answer is not wanted any more."""
        ...


class ReturnRoute(Protocol):
    """One direction of a span, as far as a call needs to know it."""

    @property
    def back(self) -> "ReturnRoute":
        """The other direction."""
        ...

    @property
    def far(self) -> RouteEnd:
        """Where it ends."""
        ...

    def carry_back(self, call: "ModCall", answer: Answer, *, after: int = BEFORE_ALL) -> None:
        """Carry an answer, given by the mod at `after`, to whoever asked."""
        ...


class Requester(Protocol):
    """Whoever asked: a peer over its link, or a mod."""

    def on_answer(self, call: "ModCall", answer: Answer) -> None:
        """Take the answer; called exactly once for each call."""
        ...


class ModCall:
    """One request on its way: who asked, which mods wait for its answer, and where it went.

    Attributes:
        crossing: the request as it travels.
        asker: who gets the answer.
        request_id: the JSON text of the asker's id.
        way: the direction it travels; its answer returns on `way.back`.
        place: the position on the way of the mod that asks.
        far_id: its id on the next hop, once it has gone there.
        thens: what mods have said of it that concerns its answer, with their positions.
        rest: the task of the mod that takes its time over it, if one does.
        is_urgent: a mod asks while it holds a message up, and so waits behind no other that does.
    """

    __slots__ = (
        "asker",
        "crossing",
        "far_id",
        "is_cancelled",
        "is_settled",
        "is_urgent",
        "place",
        "request_id",
        "rest",
        "thens",
        "way",
    )

    def __init__(
        self,
        crossing: ChainMessage,
        asker: Requester,
        request_id: bytes,
        way: ReturnRoute,
        *,
        place: int = BEFORE_ALL,
    ) -> None:
        self.crossing = crossing
        self.asker = asker
        self.request_id = request_id
        self.way = way
        self.place = place
        self.thens: list[tuple[Step, Forward]] = []
        self.far_id: bytes | None = None
        self.rest: Started | None = None
        self.is_urgent = False
        self.is_cancelled = False
        self.is_settled = False

    def settle(self, answer: Answer, *, after: int = BEFORE_ALL) -> None:
        """Send the answer back through the mods that wait for it; a second answer is dropped.

        Args:
            answer: the answer.
            after: the position, on the way back, of the mod that gives it.
        """
        if self.is_settled:
            return
        self.is_settled = True
        self.rest = None
        self.way.back.carry_back(self, answer, after=after)

    def fail(self, error: RpcError) -> None:
        """Settle with an error."""
        self.settle(Answer(error=error))

    def give(self, answer: Answer) -> None:
        """Hand the answer to whoever asked; the last step of its way back."""
        if answer.body is UNSET and answer.error_body is UNSET:
            answer = writable(answer, self.crossing)
        self.asker.on_answer(self, answer)

    def started(self, rest: Started) -> None:
        """A mod takes its time over the request; it can be cancelled before its first step too."""
        self.rest = rest
        rest.add_done_callback(
            lambda task: self.fail(RpcError(REQUEST_CANCELLED)) if task.cancelled() else None
        )

    def cancel(self) -> None:
        """Ask whoever works on this to stop; the answer is owed all the same (acp-host §1.8)."""
        if self.is_cancelled or self.is_settled:
            return
        self.is_cancelled = True
        for step, passed in self.thens:
            if passed.cancelled is not None:
                tell = passed.cancelled
                guarded(step.mod, lambda _, tell=tell: tell(), None, self.crossing)
        if self.far_id is not None:
            self.way.far.cancel(self)
        elif self.rest is not None:
            self.rest.cancel()
        else:
            # Nobody has it: it waits behind a message that a mod holds.
            self.fail(RpcError(REQUEST_CANCELLED))


SHUTTING_DOWN: Final = RpcError(INTERNAL_ERROR, {"reason": "shutting_down"})
