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
    """Response to `hello`: connection id and protocol version.

    Attributes:
        connection: id of the connection.
        protocol: protocol version.
        boot: id of this run of the daemon; changes with a restart.
        previous_end: why the broker closed this peer's previous connection, if it did.
    """

    connection: str
    protocol: int = PROTOCOL
    boot: str = ""
    previous_end: str | None = None


class Hello(BusRequest[Welcome], frozen=True, kw_only=True):
    """Identify a peer: role, handled requests, and subscriptions.

    Attributes:
        protocol: protocol version of the peer.
        role: role of the peer.
        name: display name.
        handles: requests that it handles.
        subscribes: announcements that it receives; `*` for all messages, if its role may.
        pid: process id.
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
    """Announce that an MCP server stops; optional, since the broker notices it."""

    about: ClassVar = MessageSpec(
        "goodbye", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.EVERYBODY, source="bus §1.8"
    )


class Marco(Announcement, frozen=True, kw_only=True):
    """Ask every MCP server for `polo`; for peers of version 1. Others send `who`."""

    about: ClassVar = MessageSpec(
        "marco", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.EVERYBODY, source="bus §1.8"
    )


class Polo(Announcement, frozen=True, kw_only=True):
    """Announce an MCP server; the envelope's sender identifies it."""

    about: ClassVar = MessageSpec(
        "polo", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.EVERYBODY, source="bus §1.8"
    )


class Subscribe(BusRequest[Ack], frozen=True, kw_only=True):
    """Replace the subscriptions of a peer; `*` is all messages, if its role may."""

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
    """Add a line to the history; never relayed, because relayed logs could loop."""

    about: ClassVar = MessageSpec(
        "log", sent_by=ANYONE | {Role.LEGACY}, target=MessageTarget.BROKER, source="bus §1.10, §1.5"
    )
    level: Literal["error", "warn", "info", "debug"]
    message: str


class CancelRequest(Announcement, frozen=True, kw_only=True):
    """Notify the handler that the requester gave up; only the requester can send it."""

    about: ClassVar = MessageSpec(
        "cancel_request",
        sent_by=ANYONE,
        target=MessageTarget.BROKER,
        version=2,
        source="bus §1.11, row 5",
    )
    request_id: str


class Progress(Announcement, frozen=True, kw_only=True):
    """Notify the requester of progress; only the handler can send it.

    Attributes:
        request_id: id of the request.
        message: text for the user.
        done, total: amount done and in total, if known.
    """

    about: ClassVar = MessageSpec(
        "progress", sent_by=ANYONE, target=MessageTarget.ASKER, version=2, source="bus §1.11, row 5"
    )
    request_id: str
    message: str
    done: float | None = None
    total: float | None = None


class Response(Announcement, frozen=True, kw_only=True):
    """Answer a request; accepted only from a peer that received it.

    Attributes:
        success: whether the request succeeded.
        error: error message.
        data: reply, of the type named by the request's class.
        code: error code.
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
    """A connection closed by the broker, with the reason."""

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
    """The daemon's process, handled requests, and connections.

    Attributes:
        pid: process id.
        protocol: protocol version of the bus.
        started: start time, in seconds since the epoch.
        socket: path of its socket.
        compat_socket: socket for peers of version 1; null if disabled.
        memory: memory in use, in bytes, if known.
        connections: number of connections.
        open_requests: number of open requests.
        messages: number of messages received.
        backlog: unsent output, in bytes.
        handles: requests that it handles itself.
        parts: its parts.
        cuts: recently closed connections.
        latencies: response times by message type.
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
    """Ask for the state of the daemon."""

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
    """Stop the daemon, as SIGTERM does; the reply precedes the end."""

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
        taskspace_uuid: taskspace of the windows; if absent, all taskspaces, as in the seed.
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
    """Connected peer, as described to other peers.

    Attributes:
        connection: connection id.
        role: role of the peer.
        name: display name.
        since: time of connection, in seconds since the epoch.
        seen: time of the last presence.
        kind: kind of view, if known.
        window_title: title of its registered window, if any.
        taskspace_uuid: taskspace of the window.
        workspace_folders: open folders.
        terminals: process ids of the shells in its terminals.
        focus_uri: focused document.
        pid: process id.
        handles: message types that it handles.
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
    """One message in the history, with secrets removed.

    Attributes:
        at: time, in seconds since the epoch.
        by: connection that sent it.
        name: display name of the sender.
        size: length of the original line, in bytes.
        line: the line, truncated if long.
    """

    at: float
    by: str
    name: str
    size: int
    line: str


class Presence(BusRequest[Ack], frozen=True, kw_only=True):
    """Announce a peer's location; repeated as a heartbeat, complete each time.

    Attributes:
        kind: editor, terminal, web, or acp.
        pid: process id.
        taskspace_uuid: taskspace of the peer.
        workspace_folders: absolute paths of open folders.
        terminals: process ids of the shells in its terminals.
        focus_uri: focused document; the last focused window wins a tie.
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
    """Announce that a peer connected, moved, or disconnected."""

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
    """List all connected peers, or those of a role, taskspace, or kind."""

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
    """List messages in the history, oldest first, with secrets removed.

    Attributes:
        types: only these types.
        taskspace_uuid: only messages from or about this taskspace.
        connection: only messages of this connection.
        last: maximum number, newest kept; 0 for all.
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
    """Forward a message to subscribers of `*`."""

    about: ClassVar = MessageSpec(
        "traffic",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="bus §7, row 34",
    )
    passed: Logged
