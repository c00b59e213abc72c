"""Route messages between two links.

It does not know what a method means, which peer a link is, transports, or clocks; tasks start
through `OrderedQueues`.

A *span* lies between two links and holds the in-process mods between them. Each of its two
directions is a `Route`. A chain without out-of-process mods is one span; each out-of-process mod
splits it in two.

            ┌───────────── span ─────────────┐
    link ═══╡ route to agent:  mod → mod →   ╞═══ link
            │ route to client: ← mod ← mod   │
            └────────────────────────────────┘
"""

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET

from peerwire.errors import REQUEST_CANCELLED, RpcError
from symposium.chain.calls import (
    BEFORE_ALL,
    UNKNOWN_MOD,
    ModCall,
    RouteEnd,
    Step,
    answer_handler,
    answer_of,
    attach_task,
    checked_outcome,
    close_unstarted,
    fault_of,
    guarded,
    guarded_wait,
    pass_through,
    reject_if_over,
    revised,
)
from symposium.chain.messages import UNCHANGED, Answer, ChainMessage, Direction
from symposium.chain.mod import (
    EVERY_METHOD,
    Deferred,
    Drop,
    Forward,
    Interception,
    Refuse,
    Reply,
)
from symposium.chain.ordering import OrderedQueues, QueuedItem, session_key

NOT_WAITED: Final = -1
"""In place of the stop at which a message has already waited."""


class Route:
    """One direction of a span: its mods in order, and its far end.

    Attributes:
        steps: handlers of intercepted methods.
        other: handlers of all other methods; usually none.
        length: number of mods.
        queues: queues of held messages.
        far: its end.
        back: opposite direction of the same span.
    """

    back: "Route"
    is_open = True
    """Whether an open chain follows."""

    def __init__(
        self,
        direction: Direction,
        mods: Sequence[Sequence[Interception]],
        far: RouteEnd,
        queues: OrderedQueues,
        *,
        names: Sequence[str] = (),
    ) -> None:
        self.direction = direction
        self.far = far
        self.queues = queues
        self.length = len(mods)
        handlers = [
            {
                # Reversed: the first handler of a method wins.
                interception.method: interception.handler
                for interception in reversed(interceptions)
                if interception.direction is direction
            }
            for interceptions in mods
        ]
        self.steps: dict[str, tuple[Step, ...]] = {}
        for method in {method for by_method in handlers for method in by_method}:
            by_position = [
                by_method.get(method, by_method.get(EVERY_METHOD)) for by_method in handlers
            ]
            self.steps[method] = tuple(
                Step(position, handler, names[position] if names else "")
                for position, handler in enumerate(by_position)
                if handler is not None
            )
        self.other = self.steps.pop(EVERY_METHOD, ())

    def take(
        self, message: ChainMessage, call: ModCall | None = None, *, after: int = BEFORE_ALL
    ) -> None:
        """Continue with a message after the mod at `after`; a request has a call."""
        if self.queues.idle and after == BEFORE_ALL and (call is None or not call.is_settled):
            self._send_at_once(message, call)
        else:
            self._send_in_order(message, call, after, NOT_WAITED)

    def return_answer(self, call: ModCall, answer: Answer, *, after: int = BEFORE_ALL) -> None:
        """Forward an answer to its asker, after everything sent before it."""
        if not self.queues.idle:
            self._return_in_order(call, answer, after, NOT_WAITED)
        elif not call.thens:
            call.give(answer)
        else:
            self._return_at_once(call, answer, after)

    def _send_at_once(self, message: ChainMessage, call: ModCall | None) -> None:
        """Fast path of a message while no mod holds anything."""
        queues = self.queues
        for step in self.steps.get(message.method, self.other):
            outcome = guarded(step.mod, step.handler, message, message)
            if type(outcome) is Forward and outcome.method is None and queues.idle:
                if outcome.params is not UNCHANGED:
                    message.edit(outcome.params)
                if call is not None and (outcome.then or outcome.catch or outcome.cancelled):
                    call.thens.append((step, outcome))
            else:
                if self._apply_outcome(outcome, step, message, call):
                    self._send_in_order(message, call, step.position, NOT_WAITED)
                return
        self._deliver(message, call)

    def _send_in_order(
        self, message: ChainMessage, call: ModCall | None, after: int, cleared: int
    ) -> None:
        """Path of a message while a mod holds others: it waits behind those of its session.

        Args:
            message: the message.
            call: its call; None for a notification.
            after: position of the last mod that it has passed.
            cleared: stop at which it has already waited, or `NOT_WAITED`.
        """
        if call is not None and call.is_settled:
            return
        queues = self.queues
        is_urgent = call is not None and call.is_urgent
        waits_nowhere = queues.idle or is_urgent
        steps = self.steps.get(message.method, self.other)
        if not waits_nowhere:
            steps = _with_stops(steps, queues.stops())
        for step in steps:
            position = step.position
            if position <= after:
                continue
            if not waits_nowhere and position != cleared:
                resume = partial(self._send_in_order, message, call, position - 1, position)
                item = QueuedItem(session_key(message), message.size, resume)
                if queues.queue_if_blocked(position, item):
                    return
            outcome = guarded(step.mod, step.handler, message, message)
            if not self._apply_outcome(outcome, step, message, call):
                return
            if waits_nowhere and not queues.idle and not is_urgent:
                # This mod sent a message that another mod now holds.
                self._send_in_order(message, call, position, NOT_WAITED)
                return
        self._deliver(message, call)

    def _apply_outcome(
        self, outcome: Any, step: Step, message: ChainMessage, call: ModCall | None
    ) -> bool:
        """Apply the outcome of a mod; return whether the message continues at once."""
        # In this order: most outcomes are a `Forward`; None for a notification means the same; the
        # other outcomes end the message here, as does any value that is no awaitable.
        if type(outcome) is Forward:
            return self._forward(outcome, step, message, call)
        if type(checked_outcome(step.mod, outcome, message)) is Forward:
            return True
        if type(outcome) in {Reply, Refuse, Drop, Deferred} or not hasattr(outcome, "__await__"):
            self._end_here(outcome, step, message, call)
            return False
        if reject_if_over(self.queues, call, outcome):
            return False
        rest = self._rest(step, message, call, outcome)
        task = self.queues.run_in_order(step.position, session_key(message), rest)
        attach_task(task, call, outcome)
        return False

    async def _rest(
        self, step: Step, message: ChainMessage, call: ModCall | None, waiting: Any
    ) -> None:
        outcome = checked_outcome(step.mod, await guarded_wait(step.mod, waiting, message), message)
        if call is not None:
            call.rest = None
        if type(outcome) is not Forward:
            self._end_here(outcome, step, message, call)
        elif self._forward(outcome, step, message, call):
            self._send_in_order(message, call, step.position, NOT_WAITED)

    def _forward(
        self, outcome: Forward, step: Step, message: ChainMessage, call: ModCall | None
    ) -> bool:
        method = outcome.method
        if outcome.params is not UNCHANGED:
            message.edit(outcome.params)
        if method is not None:
            message.replace(method=method, params=UNCHANGED)
        if call is not None and (outcome.then or outcome.catch or outcome.cancelled):
            call.thens.append((step, outcome))
        if method is None:
            return True
        # Later mods intercept the new name.
        self._send_in_order(message, call, step.position, NOT_WAITED)
        return False

    def _end_here(
        self, outcome: Any, step: Step, message: ChainMessage, call: ModCall | None
    ) -> None:
        if isinstance(outcome, Deferred):
            if reject_if_over(self.queues, call, outcome.work):
                return
            rest = self._answer_later(step, message, call, outcome.work)
            attach_task(self.queues.spawn(rest), call, rest, outcome.work)
        elif call is not None:
            answer = answer_of(step.mod, outcome, message)
            call.settle(answer, after=_mirrored(self, step.position))

    async def _answer_later(
        self,
        step: Step,
        message: ChainMessage,
        call: ModCall | None,
        work: Coroutine[Any, Any, Any],
    ) -> None:
        outcome = await guarded_wait(step.mod, work, message)
        if call is not None:
            answer = answer_of(step.mod, outcome, message)
            call.settle(answer, after=_mirrored(self, step.position))

    def _deliver(self, message: ChainMessage, call: ModCall | None) -> None:
        fault: RpcError | None = None
        if message.body is UNSET:
            fault = fault_of(guarded(UNKNOWN_MOD, ChainMessage.encoded, message, message))
        if call is None:
            if fault is None:
                self.far.notify(message)
        elif call.is_cancelled:
            call.fail(RpcError(REQUEST_CANCELLED))
        elif fault is not None:
            call.fail(fault)
        else:
            self.far.ask(call)

    def _return_at_once(self, call: ModCall, answer: Answer, after: int) -> None:
        """Fast path of an answer while no mod holds anything."""
        queues, last = self.queues, _mirrored(self, call.place)
        while call.thens:
            step, passed = call.thens[-1]
            position = _mirrored(self, step.position)
            if not after < position < last:
                break
            call.thens.pop()
            revision: Any = guarded(step.mod, answer_handler(passed, answer), answer, call.message)
            if revision is not None:
                if hasattr(revision, "__await__"):
                    self._hold_answer(call, answer, step, revision)
                    return
                answer = revised(answer, revision)
            after = position
            if not queues.idle:
                # This mod sent a message that another mod now holds.
                self._return_in_order(call, answer, after, NOT_WAITED)
                return
        call.give(answer)

    def _return_in_order(self, call: ModCall, answer: Answer, after: int, cleared: int) -> None:
        """Path of an answer while a mod holds others: it waits behind those of its session."""
        while (position := self._next_stop(call, after)) is not None:
            if position != cleared and not call.is_urgent:
                resume = partial(self._return_in_order, call, answer, position - 1, position)
                item = QueuedItem(session_key(call.message), answer.size, resume)
                if self.queues.queue_if_blocked(position, item):
                    return
            after = position
            if call.thens and _mirrored(self, call.thens[-1][0].position) == position:
                step, passed = call.thens.pop()
                function = answer_handler(passed, answer)
                revision: Any = guarded(step.mod, function, answer, call.message)
                if hasattr(revision, "__await__"):
                    self._hold_answer(call, answer, step, revision)
                    return
                answer = revised(answer, revision)
        call.give(answer)

    def _next_stop(self, call: ModCall, after: int) -> int | None:
        """Next mod on the way back that waits for this answer or holds messages."""
        waiting = [_mirrored(self, step.position) for step, _ in call.thens[-1:]]
        last = _mirrored(self, call.place)
        ahead = [at for at in (*waiting, *self.queues.stops()) if after < at < last]
        return min(ahead, default=None)

    def _hold_answer(self, call: ModCall, answer: Answer, step: Step, revision: Any) -> None:
        if self.queues.is_over:
            close_unstarted(revision)
            call.give(answer)
            return
        position = _mirrored(self, step.position)

        async def rest() -> None:
            revision_now = await guarded_wait(step.mod, revision, call.message)
            self._return_in_order(call, revised(answer, revision_now), position, NOT_WAITED)

        task = self.queues.run_in_order(position, session_key(call.message), rest())
        task.add_done_callback(lambda _: close_unstarted(revision))
        # Canceled with the chain: the requester gets the answer unchanged.
        task.add_done_callback(lambda ended: call.give(answer) if ended.cancelled() else None)


def _mirrored(route: Route, position: int) -> int:
    """Position of the same mod on the way back."""
    return route.length - 1 - position


def _with_stops(steps: tuple[Step, ...], stops: list[int]) -> list[Step]:
    """Add a stop for each mod that holds messages but does not handle this method."""
    handled = {step.position for step in steps}
    others = [Step(position, pass_through) for position in stops if position not in handled]
    return sorted((*steps, *others), key=lambda step: step.position)


def join(to_agent: Route, to_client: Route) -> None:
    """Make two routes the directions of one span."""
    to_agent.back = to_client
    to_client.back = to_agent
