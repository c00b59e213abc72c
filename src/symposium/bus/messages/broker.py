"""Messages of the broker and the daemon: hello, presence, subscriptions, history, status."""

from enum import Enum
from typing import Any, ClassVar, Final, Literal

from symposium.bus.protocol import (
    ANYONE,
    Ack,
    Announcement,
    BusReply,
    BusRequest,
    MessageSpec,
    MessageTarget,
    Role,
)

PROTOCOL: Final = 2


class Welcome(BusReply, frozen=True):
    """The broker's name for the connection, and the version that is spoken.

    Attributes:
        connection: the name.
        protocol: the version.
        boot: an id of this life of the daemon; another one after a restart.
        previous_end: why the broker ended this peer's connection before, if it did.
    """

    connection: str
    protocol: int = PROTOCOL
    boot: str = ""
    previous_end: str | None = None


class Hello(BusRequest[Welcome], frozen=True, kw_only=True):
    """Say who one is, what one answers and what one wants to hear.

    Attributes:
        protocol: the version one speaks.
        role: what one is.
        name: what to call one, for people.
        handles: the requests one answers.
        subscribes: the announcements one wants to hear; `*` for the traffic, where the role may.
        pid: one's process.
    """

    about: ClassVar = MessageSpec(
        "hello",
        sent_by=frozenset(Role),
        target=MessageTarget.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §7, row 38",
    )
    protocol: int
    role: Role
    name: str
    handles: frozenset[str] = frozenset()
    subscribes: frozenset[str] = frozenset()
    pid: int | None = None


class Goodbye(Announcement, frozen=True, kw_only=True):
    """Say that an MCP server shuts down; the broker knows of it anyway."""

    about: ClassVar = MessageSpec(
        "goodbye", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.EVERYBODY, source="bus §1.8"
    )


class Marco(Announcement, frozen=True, kw_only=True):
    """Ask every MCP server to answer with `polo`; for peers of version 1, others ask `who`."""

    about: ClassVar = MessageSpec(
        "marco", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.EVERYBODY, source="bus §1.8"
    )


class Polo(Announcement, frozen=True, kw_only=True):
    """Announce an MCP server; the envelope's sender identifies it."""

    about: ClassVar = MessageSpec(
        "polo", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.EVERYBODY, source="bus §1.8"
    )


class Subscribe(BusRequest[Ack], frozen=True, kw_only=True):
    """Hear these announcements, and no others; `*` is the traffic, where the role may."""

    about: ClassVar = MessageSpec(
        "subscribe",
        sent_by=ANYONE | {Role.OBSERVER},
        target=MessageTarget.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §7, row 2",
    )
    types: frozenset[str]


class Log(Announcement, frozen=True, kw_only=True):
    """Keep a line in the history; a log that is relayed and logged again would never end."""

    about: ClassVar = MessageSpec(
        "log", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.BROKER, source="bus §1.10, §1.5"
    )
    level: Literal["error", "warn", "info", "debug"]
    message: str


class CancelRequest(Announcement, frozen=True, kw_only=True):
    """Notify the handler that the asker gave up; only the asker can send it."""

    about: ClassVar = MessageSpec(
        "cancel_request",
        sent_by=ANYONE,
        target=MessageTarget.BROKER,
        version=2,
        source="bus §1.11, row 5",
    )
    request_id: str


class Progress(Announcement, frozen=True, kw_only=True):
    """Notify the asker of progress; only the handler can send it.

    Attributes:
        request_id: of which request.
        message: for a person.
        done, total: how much of how much, where that is known.
    """

    about: ClassVar = MessageSpec(
        "progress", sent_by=ANYONE, target=MessageTarget.ASKER, version=2, source="bus §1.11, row 5"
    )
    request_id: str
    message: str
    done: float | None = None
    total: float | None = None


class Response(Announcement, frozen=True, kw_only=True):
    """Answer a request; the broker takes it only from whom it has asked.

    Attributes:
        success: whether what was asked has happened.
        error: why not.
        data: the reply, as the request's class says.
        code: which kind of error, for programs.
    """

    about: ClassVar = MessageSpec(
        "response",
        sent_by=frozenset(Role) - {Role.OBSERVER},
        target=MessageTarget.ASKER,
        source="bus §1.2",
    )
    success: bool
    error: str | None = None
    data: Any = None
    code: str | None = None


class Cut(BusReply, frozen=True):
    """A connection that the broker ended, and why."""

    at: float
    name: str
    reason: str


class LatencyReport(BusReply, frozen=True):
    """Response times of one message type, in milliseconds."""

    type: str
    count: int
    mean_ms: float
    worst_ms: float


class DaemonInfo(BusReply, frozen=True):
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
    latencies: tuple[LatencyReport, ...]


class DaemonStatus(BusRequest[DaemonInfo], frozen=True, kw_only=True):
    """Ask how the daemon is."""

    about: ClassVar = MessageSpec(
        "daemon_status",
        sent_by=ANYONE | {Role.OBSERVER},
        target=MessageTarget.ENGINE,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §1",
    )


class StopDaemon(BusRequest[Ack], frozen=True, kw_only=True):
    """End the daemon, as SIGTERM does; the reply comes before the end."""

    about: ClassVar = MessageSpec(
        "stop_daemon",
        sent_by=frozenset({Role.APP, Role.CLI}),
        target=MessageTarget.ENGINE,
        budget=5.0,
        version=2,
        source="issue part 3 §1",
    )


class TaskspaceRollCall(Announcement, frozen=True, kw_only=True):
    """Ask windows to register again.

    Attributes:
        taskspace_uuid: whose windows; every taskspace's if absent, as the seed writes it.
    """

    about: ClassVar = MessageSpec(
        "taskspace_roll_call",
        sent_by=ANYONE | {Role.LEGACY},
        target=MessageTarget.EVERYBODY,
        source="bus §1.10; §1.11, row 3",
    )
    taskspace_uuid: str | None = None


class WindowKind(Enum):
    """Kinds of views through which a user is reached."""

    EDITOR = "editor"
    TERMINAL = "terminal"
    WEB = "web"
    ACP = "acp"


class Present(BusReply, frozen=True, omit_defaults=True):
    """One peer that is connected.

    Attributes:
        connection: the broker's name for it.
        role: what it has said it is.
        name: what it calls itself, for people.
        since: when it came, in seconds since the epoch.
        seen: when it last said where it is.
        kind: which kind of view it is, if it has said so.
        window_title: the title of its window, if it registered one for a taskspace.
        taskspace_uuid: the taskspace of the window.
        workspace_folders: the folders it has open.
        terminals: the process ids of its terminals' shells.
        focus_uri: what its user looks at.
        pid: its process.
        handles: the message types it answers.
    """

    connection: str
    role: str
    name: str
    since: float
    seen: float
    kind: WindowKind | None = None
    window_title: str | None = None
    taskspace_uuid: str | None = None
    workspace_folders: tuple[str, ...] = ()
    terminals: tuple[int, ...] = ()
    focus_uri: str | None = None
    pid: int | None = None
    handles: tuple[str, ...] = ()


class Logged(BusReply, frozen=True):
    """One message of the history, without secrets.

    Attributes:
        at: when it passed, in seconds since the epoch.
        by: the connection that sent it.
        name: what that called itself.
        size: bytes of the line as it passed.
        line: the line; cut where it is too long to be kept whole.
    """

    at: float
    by: str
    name: str
    size: int
    line: str


class Presence(BusRequest[Ack], frozen=True, kw_only=True):
    """Say where one is; said again it is the heartbeat, and whole each time.

    Attributes:
        kind: editor, terminal, web or acp.
        pid: one's process.
        taskspace_uuid: the taskspace of the peer.
        workspace_folders: absolute paths of what is open.
        terminals: the process ids of the shells in one's terminals.
        focus_uri: what the user looks at; the window with a fresh focus wins a tie.
    """

    about: ClassVar = MessageSpec(
        "presence",
        sent_by=ANYONE | {Role.OBSERVER},
        target=MessageTarget.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §3.8, §7 row 17",
    )
    kind: WindowKind
    pid: int | None = None
    taskspace_uuid: str | None = None
    workspace_folders: tuple[str, ...] = ()
    terminals: tuple[int, ...] = ()
    focus_uri: str | None = None


class PresenceChanged(Announcement, frozen=True, kw_only=True):
    """Announce which peers are where."""

    about: ClassVar = MessageSpec(
        "presence_changed",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="bus §7, row 17",
    )
    change: Literal["came", "moved", "gone"]
    peer: Present


class Who(BusRequest[list[Present]], frozen=True, kw_only=True):
    """Ask for everyone who is connected, or those of one role, taskspace or kind."""

    about: ClassVar = MessageSpec(
        "who",
        sent_by=ANYONE | {Role.OBSERVER},
        target=MessageTarget.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §7, row 17",
    )
    role: str | None = None
    taskspace_uuid: str | None = None
    kind: WindowKind | None = None


class History(BusRequest[list[Logged]], frozen=True, kw_only=True):
    """Ask for the messages that are remembered, oldest first, without secrets.

    Attributes:
        types: of these types only.
        taskspace_uuid: sent from, or about, this taskspace only.
        connection: sent by this connection only.
        last: so many at most, the newest; 0 for all.
    """

    about: ClassVar = MessageSpec(
        "history",
        sent_by=frozenset({Role.APP, Role.CLI, Role.OBSERVER, Role.DAEMON}),
        target=MessageTarget.BROKER,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="bus §7, rows 5 and 34",
    )
    types: frozenset[str] = frozenset()
    taskspace_uuid: str | None = None
    connection: str | None = None
    last: int = 0


class Traffic(Announcement, frozen=True, kw_only=True):
    """Show a message that has just passed to who has subscribed to `*`."""

    about: ClassVar = MessageSpec(
        "traffic",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="bus §7, row 34",
    )
    passed: Logged
