"""The window of a message, the open requests, and the actions of the broker.

A window is chosen by components of canonical paths (bus §1.9). No I/O, no tasks, no clock; it does
not know what a message says.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, TypeAlias

from msgspec import Struct

from symposium.bus.envelope import Envelope

Parts: TypeAlias = tuple[str, ...]
"""Components of a canonical absolute path; empty for the root and for other paths."""


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """Location of a sender.

    Attributes:
        directory: working directory, if known.
        taskspace: UUID of its taskspace.
        shell_pid: shell of the terminal that it runs in; 0 counts as none.
    """

    directory: Parts | None
    taskspace: str | None = None
    shell_pid: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Properties of a window for routing.

    Attributes:
        connection: its peer.
        folders: its open folders; may include the root.
        terminals: process ids of the shells in its terminals.
        taskspace: UUID of the shown taskspace.
        focused: time of the user's last focus.
    """

    connection: str
    folders: tuple[Parts, ...] = ()
    terminals: frozenset[int] = frozenset()
    taskspace: str | None = None
    focused: float = 0.0


def window_for(origin: MessageOrigin, windows: Iterable[Window]) -> Window | None:
    """The window for a message from this origin; None if none matches.

    First a window that shows the sender's taskspace; then the owner of its terminal; then the
    windows with the innermost folder that contains its directory. A tie goes to the last focused
    window, then to the first one. If no window owns the terminal, the directory decides.
    """
    known = list(windows)
    of_taskspace = [each for each in known if is_same_taskspace(each.taskspace, origin.taskspace)]
    if of_taskspace:
        return (
            _owner(origin, of_taskspace)
            or _latest(_innermost(origin, of_taskspace))
            or _latest(of_taskspace)
        )
    # A window that shows another taskspace must not receive this sender's messages.
    free = [each for each in known if origin.taskspace is None or each.taskspace is None]
    return _owner(origin, free) or _latest(_innermost(origin, free))


def is_same_taskspace(one: str | None, other: str | None) -> bool:
    """Compare taskspaces; UUIDs are case-insensitive (bus §1.9)."""
    return bool(one and other) and str(one).lower() == str(other).lower()


def depth(directory: Parts | None, folders: Iterable[Parts]) -> int:
    """Length of the longest folder that contains the directory, in components; -1 for none."""
    if directory is None:
        return -1
    return max((len(each) for each in folders if directory[: len(each)] == each), default=-1)


def _owner(origin: MessageOrigin, windows: list[Window]) -> Window | None:
    if not origin.shell_pid:
        return None
    return _latest([each for each in windows if origin.shell_pid in each.terminals])


def _innermost(origin: MessageOrigin, windows: list[Window]) -> list[Window]:
    depths = [depth(origin.directory, each.folders) for each in windows]
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
        envelope: the decoded line, if available, for receivers in this process.
    """

    connections: tuple[str, ...]
    line: bytes
    envelope: Envelope | None = None


class Close(Struct, frozen=True, gc=False):
    """Close a connection after writing pending deliveries."""

    connection: str
    reason: str


class Warn(Struct, frozen=True, gc=False):
    """Write a warning to the log."""

    text: str


Action: TypeAlias = Deliver | Close | Warn


MAX_OPEN: Final = 1000
"""Maximum number of open requests per sender; more are rejected."""


@dataclass(slots=True)
class OpenRequest:
    """An open request.

    Attributes:
        id: its id.
        type: message type.
        asker: connection that waits for the response.
        answerers: connections that may respond; the first response counts.
        since: start time, in seconds of the broker's clock.
        deadline: time of its timeout, by the same clock.
    """

    id: str
    type: str
    asker: str
    answerers: set[str]
    since: float
    deadline: float


@dataclass(slots=True)
class ResponseTime:
    """Response times of one message type.

    Attributes:
        count: number of responses.
        total: sum in seconds.
        worst: maximum in seconds.
    """

    count: int = 0
    total: float = 0.0
    worst: float = 0.0


class OpenBusRequests:
    """All open requests, by id and by connection."""

    def __init__(self) -> None:
        self._open: dict[str, OpenRequest] = {}
        self._count_by_asker: dict[str, int] = {}
        self._deadlines: list[tuple[float, str]] = []
        self.response_times: dict[str, ResponseTime] = {}
        """Response times by message type."""

    def __len__(self) -> int:
        return len(self._open)

    def get(self, request_id: str) -> OpenRequest | None:
        return self._open.get(request_id)

    def count_of(self, asker: str) -> int:
        """Number of open requests of one sender."""
        return self._count_by_asker.get(asker, 0)

    def add(self, request: OpenRequest) -> None:
        self._open[request.id] = request
        self._count_by_asker[request.asker] = self._count_by_asker.get(request.asker, 0) + 1
        heappush(self._deadlines, (request.deadline, request.id))

    def answered(self, request: OpenRequest, now: float) -> None:
        """Remove a request and record its response time."""
        self.close(request)
        times = self.response_times.setdefault(request.type, ResponseTime())
        times.count += 1
        times.total += now - request.since
        times.worst = max(times.worst, now - request.since)

    def close(self, request: OpenRequest) -> None:
        """Remove a request without a response time."""
        del self._open[request.id]
        left = self._count_by_asker[request.asker] - 1
        if left:
            self._count_by_asker[request.asker] = left
        else:
            del self._count_by_asker[request.asker]
        # Drop deadlines of closed requests once they outnumber the open ones.
        if len(self._deadlines) > 2 * len(self._open) + MAX_OPEN:
            self._deadlines = [(each.deadline, each.id) for each in self._open.values()]
            self._deadlines.sort()

    def concerning(self, connection: str) -> list[OpenRequest]:
        """Requests that a connection sent or may answer."""
        return [
            each
            for each in self._open.values()
            if each.asker == connection or connection in each.answerers
        ]

    @property
    def next_deadline(self) -> float | None:
        while self._deadlines:
            deadline, request_id = self._deadlines[0]
            request = self._open.get(request_id)
            if request is not None and request.deadline == deadline:
                return deadline
            heappop(self._deadlines)
        return None

    def overdue(self, now: float) -> Iterable[OpenRequest]:
        """Remove and return requests past their deadline."""
        while (deadline := self.next_deadline) is not None and deadline <= now:
            request = self._open[heappop(self._deadlines)[1]]
            self.close(request)
            yield request
