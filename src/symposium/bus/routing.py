"""Which window a message is for, which requests are pending, and what the broker wants done.

The reference leaves the choice to each window, which compares strings; here one is chosen, once, by
whole components of canonical paths.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, TypeAlias

from msgspec import Struct

from symposium.bus.envelope import Envelope

Parts: TypeAlias = tuple[str, ...]
"""A canonical absolute path as its components; empty for the root and for what is no path."""


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """Where a sender stands.

    Attributes:
        directory: its working directory; None if it has said none.
        taskspace: the uuid of its taskspace.
        shell_pid: the shell of the terminal it runs under; 0 counts as none.
    """

    directory: Parts | None
    taskspace: str | None = None
    shell_pid: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What is known of a window.

    Attributes:
        connection: whose window.
        folders: its open folders; the root is a folder too.
        terminals: the process ids of the shells in its terminals.
        taskspace: the uuid of the taskspace it shows.
        focused: when its user last looked at it; larger is later.
    """

    connection: str
    folders: tuple[Parts, ...] = ()
    terminals: frozenset[int] = frozenset()
    taskspace: str | None = None
    focused: float = 0.0


def window_for(place: MessageOrigin, windows: Iterable[Window]) -> Window | None:
    """The one window that a message from this place is for; None if none is.

    A window that shows the sender's taskspace goes before all others; then the window that owns its
    terminal; then the one whose folder holds its directory, the innermost folder first. Among
    equals the window looked at last, then the first. A terminal that nobody owns any more leaves
    the directory to decide.
    """
    known = list(windows)
    of_taskspace = [each for each in known if is_same_taskspace(each.taskspace, place.taskspace)]
    if of_taskspace:
        return (
            _owner(place, of_taskspace)
            or _latest(_innermost(place, of_taskspace))
            or _latest(of_taskspace)
        )
    # A window that shows another taskspace is that one's: no stranger's walkthrough opens there.
    free = [each for each in known if place.taskspace is None or each.taskspace is None]
    return _owner(place, free) or _latest(_innermost(place, free))


def is_same_taskspace(one: str | None, other: str | None) -> bool:
    """Whether both name the same taskspace: uuids have no case (bus §1.9)."""
    return bool(one and other) and str(one).lower() == str(other).lower()


def depth(directory: Parts | None, folders: Iterable[Parts]) -> int:
    """Components of the longest folder that is, or holds, the directory; -1 if none does."""
    if directory is None:
        return -1
    return max((len(each) for each in folders if directory[: len(each)] == each), default=-1)


def _owner(place: MessageOrigin, windows: list[Window]) -> Window | None:
    if not place.shell_pid:
        return None
    return _latest([each for each in windows if place.shell_pid in each.terminals])


def _innermost(place: MessageOrigin, windows: list[Window]) -> list[Window]:
    depths = [depth(place.directory, each.folders) for each in windows]
    best = max(depths, default=-1)
    if best < 0:
        return []
    return [each for each, found in zip(windows, depths, strict=True) if found == best]


def _latest(windows: list[Window]) -> Window | None:
    return max(windows, key=_focus, default=None)


def _focus(window: Window) -> float:
    return window.focused


class Deliver(Struct, frozen=True, gc=False):
    """Write this line to these connections.

    Attributes:
        envelope: the same as a value, where it is at hand: a receiver in this process takes that.
    """

    connections: tuple[str, ...]
    line: bytes
    envelope: Envelope | None = None


class Close(Struct, frozen=True, gc=False):
    """End that connection; what was delivered to it before is still written."""

    connection: str
    reason: str


class Warn(Struct, frozen=True, gc=False):
    """Write this down where the user looks for what has gone wrong."""

    text: str


Action: TypeAlias = Deliver | Close | Warn


MAX_OPEN: Final = 1000
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
class ResponseTime:
    """How long the answers to one message type have taken.

    Attributes:
        count: answers so far.
        total: seconds of them all.
        worst: seconds of the slowest.
    """

    count: int = 0
    total: float = 0.0
    worst: float = 0.0


class OpenBusRequests:
    """All of them, by id and by who is concerned."""

    def __init__(self) -> None:
        self._open: dict[str, OpenRequest] = {}
        self._of: dict[str, int] = {}
        self._deadlines: list[tuple[float, str]] = []
        self.took: dict[str, ResponseTime] = {}
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
        took = self.took.setdefault(request.type, ResponseTime())
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
        if len(self._deadlines) > 2 * len(self._open) + MAX_OPEN:
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
