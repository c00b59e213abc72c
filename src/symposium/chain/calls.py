"""A request in flight; error boundary and checks for the outcomes of mods.

It does not know which mods a route has, or transports and clocks, and it starts no tasks.
"""

import logging
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any, Final, Protocol

from msgspec import UNSET, Struct

from peerwire.errors import INTERNAL_ERROR, REQUEST_CANCELLED, RpcError, rpc_error_of
from peerwire.jsonrpc.messages import Message
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Handler, Outcome, Refuse, Reply, Then
from symposium.chain.ordering import OrderedQueues, Started

FAULTS: Final = "symposium.mods"
"""Logger for faults of mods; shown even without a log option."""

SHUTTING_DOWN: Final = RpcError(INTERNAL_ERROR, {"reason": "shutting_down"})
"""Error for every request of a chain that stops."""

UNKNOWN_MOD: Final = "unknown"
"""Name in the error of a value without a JSON form: any mod on the route may have made it."""

_log = logging.getLogger(FAULTS)


def guarded(
    mod: str, function: Callable[[Any], Any], argument: object, message: ChainMessage
) -> Any:
    """Call a function of a mod; an exception becomes an error of this mod (§1.6)."""
    try:
        return function(argument)
    except Exception as error:  # noqa: BLE001 - the mods' boundary: what is called at once
        return _outcome_of_fault(mod, error, message)


async def guarded_wait(mod: str, outcome: Awaitable[Any], message: ChainMessage) -> Any:
    """Await a coroutine of a mod, with the same error handling."""
    try:
        return await outcome
    except Exception as error:  # noqa: BLE001 - the mods' boundary: what takes its time
        return _outcome_of_fault(mod, error, message)


def _outcome_of_fault(mod: str, error: Exception, message: ChainMessage) -> Outcome:
    if not isinstance(error, RpcError):
        _log.error("mod %s failed on %s", mod, message.method, exc_info=error)
    # No one awaits a notification, so forward it unchanged instead of dropping it.
    if not message.is_request:
        return Forward()
    context = {"reason": "mod_failed", "mod": mod, "method": message.method}
    return Refuse(rpc_error_of(error, context))


def checked_outcome(mod: str, outcome: Any, message: ChainMessage) -> Any:
    """Check the outcome for a notification; a missing one means unchanged."""
    if outcome is not None or message.is_request:
        return outcome
    _log.error("mod %s returned nothing for %s; it must say Forward or Drop", mod, message.method)
    return Forward()


def answer_of(mod: str, outcome: object, message: ChainMessage) -> Answer:
    """The answer of a mod to a request."""
    match outcome:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            data = {"reason": "mod_gave_no_answer", "mod": mod, "method": message.method}
            return Answer(error=RpcError(INTERNAL_ERROR, data))


def answer_handler(waiting: Forward, answer: Answer) -> Then:
    """The mod's function for a result or for an error."""
    is_result = answer.error_body is UNSET and answer.error is None
    handler = waiting.then if is_result else waiting.catch
    return _keep_answer if handler is None else handler


def _keep_answer(answer: Answer) -> None:
    del answer


def revised(answer: Answer, revision: object) -> Answer:
    """Apply a mod's revision to an answer."""
    match revision:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            return answer


def writable(answer: Answer, message: ChainMessage) -> Answer:
    """The answer, or an error if a mod made it and it has no JSON form."""
    fault = guarded(UNKNOWN_MOD, Answer.encode, answer, message)
    return Answer(error=fault.error) if isinstance(fault, Refuse) else answer


def fault_of(encoded: object) -> RpcError | None:
    """Error of params that cannot be encoded; None if they can."""
    if isinstance(encoded, bytes):
        return None
    match encoded:
        case Refuse(error):
            return error
        case Forward():
            # Of a notification, which is dropped: no one reads this error.
            return RpcError(INTERNAL_ERROR)
        case _:
            return None


BEFORE_ALL: Final = -1
"""Position of a link: before the first mod of its route."""


def pass_through(_: ChainMessage) -> Forward:
    """Handler that only keeps a mod's place in the order."""
    return Forward()


class Step(Struct, frozen=True):
    """One mod on a route: its position, its handler for a method, and its name."""

    position: int
    handler: Handler
    mod: str = ""


class RouteEnd(Protocol):
    """End of a route: forwards messages, in most cases to a link."""

    def forward(self, message: Message, line: bytes) -> None:
        """Forward an unchanged notification as its original line."""
        ...

    def notify(self, message: ChainMessage) -> None:
        """Forward a notification."""
        ...

    def ask(self, call: "ModCall") -> None:
        """Forward a request; settles the call with its answer."""
        ...

    def cancel(self, call: "ModCall") -> None:
        """Cancel a forwarded request."""
        ...


class ReturnRoute(Protocol):
    """The part of a route that a call uses."""

    @property
    def back(self) -> "ReturnRoute":
        """Route in the opposite direction."""
        ...

    @property
    def far(self) -> RouteEnd:
        """End of this direction."""
        ...

    def return_answer(self, call: "ModCall", answer: Answer, *, after: int = BEFORE_ALL) -> None:
        """Forward an answer from the mod at `after` to the requester."""
        ...


class Requester(Protocol):
    """Sender of a request: a peer or a mod."""

    def on_answer(self, call: "ModCall", answer: Answer) -> None:
        """Handle the answer; called exactly once per call."""
        ...


class ModCall:
    """A request in flight: its sender, the mods that wait for its answer, and its receiver.

    Attributes:
        message: the request.
        asker: receives the answer.
        request_id: JSON text of the sender's id.
        route: route of the request; the answer returns on `route.back`.
        place: position of the requesting mod on the route.
        far_id: its id on the next connection, once sent.
        thens: answer handlers of mods, with their positions.
        rest: running task of a mod, if any.
        is_urgent: sent by a mod that holds a message; must not wait behind other held messages.
    """

    __slots__ = (
        "asker",
        "far_id",
        "is_cancelled",
        "is_settled",
        "is_urgent",
        "message",
        "place",
        "request_id",
        "rest",
        "route",
        "thens",
    )

    def __init__(
        self,
        message: ChainMessage,
        asker: Requester,
        request_id: bytes,
        route: ReturnRoute,
        *,
        place: int = BEFORE_ALL,
    ) -> None:
        self.message = message
        self.asker = asker
        self.request_id = request_id
        self.route = route
        self.place = place
        self.thens: list[tuple[Step, Forward]] = []
        self.far_id: bytes | None = None
        self.rest: Started | None = None
        self.is_urgent = False
        self.is_cancelled = False
        self.is_settled = False

    def settle(self, answer: Answer, *, after: int = BEFORE_ALL) -> None:
        """Return the answer through the waiting mods; a second answer is dropped.

        Args:
            answer: the answer.
            after: position of the answering mod, on the way back.
        """
        if self.is_settled:
            return
        self.is_settled = True
        self.rest = None
        self.route.back.return_answer(self, answer, after=after)

    def fail(self, error: RpcError) -> None:
        self.settle(Answer(error=error))

    def give(self, answer: Answer) -> None:
        """Deliver the answer to the requester; last step of the way back."""
        if answer.body is UNSET and answer.error_body is UNSET:
            answer = writable(answer, self.message)
        self.asker.on_answer(self, answer)

    def started(self, rest: Started) -> None:
        """Store the task of a mod; it may be canceled before its first step."""
        self.rest = rest
        rest.add_done_callback(
            lambda task: self.fail(RpcError(REQUEST_CANCELLED)) if task.cancelled() else None
        )

    def cancel(self) -> None:
        """Cancel the work; an answer is still required (acp-host §1.8)."""
        if self.is_cancelled or self.is_settled:
            return
        self.is_cancelled = True
        for step, passed in self.thens:
            if passed.cancelled is not None:
                tell = passed.cancelled
                guarded(step.mod, lambda _, tell=tell: tell(), None, self.message)
        if self.far_id is not None:
            self.route.far.cancel(self)
        elif self.rest is not None:
            self.rest.cancel()
        else:
            # Not delivered yet: it waits behind a message that a mod holds.
            self.fail(RpcError(REQUEST_CANCELLED))


def attach_task(task: Started, call: ModCall | None, *work: Any) -> None:
    """Let the call cancel the task of a mod; close its coroutines when it ends."""
    if call is not None:
        call.started(task)
    task.add_done_callback(lambda _: close_unstarted(*work))


def reject_if_over(queues: OrderedQueues, call: ModCall | None, work: object) -> bool:
    """Return whether the chain has stopped; if so, settle the request as canceled."""
    if not queues.is_over:
        return False
    close_unstarted(work)
    if call is not None:
        call.fail(RpcError(REQUEST_CANCELLED))
    return True


def close_unstarted(*work: Any) -> None:
    """Close coroutines that never started, to avoid a warning."""
    for one in work:
        if isinstance(one, CoroutineType):
            one.close()
