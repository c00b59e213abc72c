"""`daemon_status`: how the daemon is."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Reply, Request, Target


class Cut(Reply, frozen=True):
    """A connection that the broker ended, and why."""

    at: float
    name: str
    reason: str


class Latency(Reply, frozen=True):
    """How long the answers to one message type have taken, in milliseconds."""

    type: str
    count: int
    mean_ms: float
    worst_ms: float


class DaemonInfo(Reply, frozen=True):
    """The process, what it answers, and who is there.

    Attributes:
        pid: the process.
        protocol: the version of the bus that it speaks.
        started: when, in seconds since the epoch.
        socket: where it listens.
        compat_socket: where peers of version 1 come; null if nowhere.
        memory: bytes in use, where the system says.
        connections: how many there are.
        open_requests: how many wait for an answer.
        messages: how many have passed.
        backlog: bytes that wait for slow readers.
        handles: the requests it answers itself.
        parts: what is plugged in.
        cuts: the connections it ended lately.
        latencies: how long answers have taken, by message type.
    """

    pid: int
    protocol: int
    started: float
    socket: str
    compat_socket: str | None
    memory: int
    connections: int
    open_requests: int
    messages: int
    backlog: int
    handles: tuple[str, ...]
    parts: tuple[str, ...]
    cuts: tuple[Cut, ...]
    latencies: tuple[Latency, ...]


class DaemonStatus(Request[DaemonInfo], frozen=True, kw_only=True):
    """Ask how the daemon is."""

    about: ClassVar = About(
        "daemon_status",
        sent_by=ANYONE | {Role.OBSERVER},
        target=Target.ENGINE,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §1",
    )
