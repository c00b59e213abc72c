"""One request on its way through a chain, from the question to the one answer."""

from typing import Final, Protocol

from msgspec import UNSET, Struct

from peerwire.errors import REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.messages import Message
from symposium.conductor.component import Answer, Crossing, Forward, Handler
from symposium.conductor.lanes import Started
from symposium.conductor.outcomes import guarded, writable

BEFORE_ALL: Final = -1
"""The place of a link: before the first mod of the way that its messages take."""


def stay(_: Crossing) -> Forward:
    """Stands for the handler of a mod that has none, where its lane is to be kept."""
    return Forward()


class Step(Struct, frozen=True):
    """One mod on a way: its position, its handler for a method, and its name."""

    position: int
    handler: Handler
    mod: str = ""


class End(Protocol):
    """Where a way ends: something that takes messages on, mostly a link."""

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched, as the line it came in."""
        ...

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        ...

    def ask(self, call: "Call") -> None:
        """Take a request; settle the call when its answer is there."""
        ...

    def cancel(self, call: "Call") -> None:
        """Tell whoever was asked that the answer is not wanted any more."""
        ...


class Route(Protocol):
    """One direction of a span, as far as a call needs to know it."""

    @property
    def back(self) -> "Route":
        """The other direction."""
        ...

    @property
    def far(self) -> End:
        """Where it ends."""
        ...

    def carry_back(self, call: "Call", answer: Answer, *, after: int = BEFORE_ALL) -> None:
        """Carry an answer, given by the mod at `after`, to whoever asked."""
        ...


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
        crossing: Crossing,
        asker: Asker,
        request_id: bytes,
        way: Route,
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
        self.asker.answered(self, answer)

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
