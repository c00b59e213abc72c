"""Requests that wait for their response: who asked, who may answer, and until when."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

MOST_OPEN: Final = 1000
"""Requests of one asker that may be open at a time; one more is refused."""


@dataclass(slots=True)
class OpenRequest:
    """One of them.

    Attributes:
        id: the request's.
        type: its message type.
        asker: the connection that waits.
        answerers: the connections one of which is to answer; the first that does, counts.
        since: when it was asked, in seconds of the broker's clock.
        deadline: when the broker answers for them, in the same seconds.
    """

    id: str
    type: str
    asker: str
    answerers: set[str]
    since: float
    deadline: float


@dataclass(slots=True)
class Took:
    """How long the answers to one message type have taken.

    Attributes:
        count: answers so far.
        total: seconds of them all.
        worst: seconds of the slowest.
    """

    count: int = 0
    total: float = 0.0
    worst: float = 0.0


class OpenRequests:
    """All of them, by id and by who is concerned."""

    def __init__(self) -> None:
        self._open: dict[str, OpenRequest] = {}
        self._of: dict[str, int] = {}
        self._deadlines: list[tuple[float, str]] = []
        self.took: dict[str, Took] = {}
        """How long answers have taken, by message type."""

    def __len__(self) -> int:
        return len(self._open)

    def get(self, request_id: str) -> OpenRequest | None:
        """The open request of this id."""
        return self._open.get(request_id)

    def count_of(self, asker: str) -> int:
        """How many one asker has."""
        return self._of.get(asker, 0)

    def add(self, request: OpenRequest) -> None:
        """Wait for this one."""
        self._open[request.id] = request
        self._of[request.asker] = self._of.get(request.asker, 0) + 1
        heappush(self._deadlines, (request.deadline, request.id))

    def answered(self, request: OpenRequest, now: float) -> None:
        """Who was asked has answered."""
        self.close(request)
        took = self.took.setdefault(request.type, Took())
        took.count += 1
        took.total += now - request.since
        took.worst = max(took.worst, now - request.since)

    def close(self, request: OpenRequest) -> None:
        """It is answered, or nobody waits any more."""
        del self._open[request.id]
        left = self._of[request.asker] - 1
        if left:
            self._of[request.asker] = left
        else:
            del self._of[request.asker]
        if len(self._deadlines) > 2 * len(self._open) + MOST_OPEN:
            self._deadlines = [(each.deadline, each.id) for each in self._open.values()]
            self._deadlines.sort()

    def concerning(self, connection: str) -> list[OpenRequest]:
        """Those that one connection has asked or is to answer."""
        return [
            each
            for each in self._open.values()
            if each.asker == connection or connection in each.answerers
        ]

    @property
    def next_deadline(self) -> float | None:
        """When the next of them is over."""
        while self._deadlines:
            deadline, request_id = self._deadlines[0]
            request = self._open.get(request_id)
            if request is not None and request.deadline == deadline:
                return deadline
            heappop(self._deadlines)
        return None

    def overdue(self, now: float) -> Iterable[OpenRequest]:
        """Those whose time is over; each is closed."""
        while (deadline := self.next_deadline) is not None and deadline <= now:
            request = self._open[heappop(self._deadlines)[1]]
            self.close(request)
            yield request
