"""Table of connected peers, with cached queries and the choice of the peer for a request.

It does not know sockets, requests, or the clock: callers pass the time and resolve paths.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from msgspec import UNSET

from symposium.bus.envelope import Address, Envelope, Sender, stamp
from symposium.bus.messages.broker import Hello, Presence, Present, WindowKind
from symposium.bus.protocol import MessageSpec, MessageTarget, Role, sendable_by
from symposium.bus.routing import (
    MessageOrigin,
    Parts,
    Window,
    is_same_taskspace,
    window_for,
)

EVERYTHING: Final = "*"
"""Subscription to all messages."""

WINDOW_SECONDS: Final = 90.0
"""Seconds after its last heartbeat until a window counts as silent: three heartbeats."""

Canonical = Callable[[str], Parts | None]
"""Makes a path canonical; None for a path that is not absolute."""


class SocketKind(Enum):
    """The socket of a peer, which determines its protocol."""

    BUS = "bus"
    COMPAT = "compat"


@dataclass(slots=True)
class BusPeer:
    """Connected peer, with the state that the broker keeps for it.

    Attributes:
        id: its connection id, added to its messages.
        socket_kind: kind of its socket.
        since: time of connection, in seconds since the epoch.
        name: display name.
        hello: its `hello`; None before it, and for version 1.
        subscribes: announcements that it receives.
        presence: its last presence, if any.
        shows: taskspace of its registered window.
        window_title: title of that window.
        seen: time of the last presence.
        focused: time of the last change of focus.
        sender: last sender in its messages.
        role: its role.
        is_legacy: whether it speaks version 1.
        allowed_types: message types that it may send.
        has_forged: whether it answered a request of another peer.
        only: its id as a list of receivers.
        stamp: prefix that marks its lines.
    """

    id: str
    socket_kind: SocketKind
    since: float
    name: str
    hello: Hello | None = None
    subscribes: frozenset[str] = frozenset()
    presence: Presence | None = None
    shows: str | None = None
    window_title: str | None = None
    seen: float = 0.0
    focused: float = 0.0
    sender: Sender | None = None
    role: Role = Role.LEGACY
    is_legacy: bool = False
    allowed_types: frozenset[str] = frozenset()
    has_forged: bool = False
    only: tuple[str] = field(init=False)
    stamp: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.only = (self.id,)
        self.stamp = stamp(self.id)
        self.is_legacy = self.socket_kind is SocketKind.COMPAT

    def accept_hello(self, hello: Hello) -> None:
        """Apply a `hello`: name, role, and permissions."""
        self.hello, self.name, self.role = hello, hello.name, hello.role
        self.is_legacy = False
        self.allowed_types = sendable_by(hello.role)
        self.subscribes = hello.subscribes

    @property
    def taskspace(self) -> str | None:
        if self.presence is not None and self.presence.taskspace_uuid:
            return self.presence.taskspace_uuid
        if self.shows is not None:
            return self.shows
        return None if self.sender is None else self.sender.taskspace_uuid

    def is_silent(self, now: float) -> bool:
        """Whether its heartbeats have stopped; always False for a peer that sends none."""
        return self.presence is not None and now - self.seen > WINDOW_SECONDS

    def handles(self, type_: str) -> bool:
        """Whether it handles this request type."""
        return self.hello is not None and type_ in self.hello.handles

    def is_meant(self, to: Address) -> bool:
        """Whether an address matches it."""
        return (
            (to.connection is None or self.id == to.connection)
            and (to.role is None or self.role.value == to.role)
            and (to.taskspace is None or is_same_taskspace(self.taskspace, to.taskspace))
        )

    def present(self) -> Present:
        """The peer as shown to others."""
        where, hello = self.presence, self.hello
        return Present(
            connection=self.id,
            role=self.role.value,
            name=self.name,
            since=self.since,
            seen=self.seen or self.since,
            kind=where.kind if where is not None else WindowKind.EDITOR if self.shows else None,
            window_title=self.window_title,
            taskspace_uuid=self.taskspace,
            workspace_folders=() if where is None else where.workspace_folders,
            terminals=() if where is None else where.terminals,
            focus_uri=None if where is None else where.focus_uri,
            pid=(where.pid if where is not None else None) or (hello.pid if hello else None),
            handles=() if hello is None else tuple(sorted(hello.handles)),
        )


class Peers:
    """Table of peers; queries are cached until a peer connects, disconnects, or changes."""

    def __init__(self, canonical: Canonical) -> None:
        self._canonical = canonical
        self._peers: dict[str, BusPeer] = {}
        self._subscribers: dict[str, tuple[str, ...]] = {}
        self._handlers: dict[str, tuple[BusPeer, ...]] = {}
        self._legacy: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[BusPeer]:
        return iter(self._peers.values())

    def __len__(self) -> int:
        return len(self._peers)

    def get(self, connection: str) -> BusPeer | None:
        """The peer with this connection id."""
        return self._peers.get(connection)

    def add(self, peer: BusPeer) -> None:
        """Add a connected peer."""
        self._peers[peer.id] = peer
        self.changed()

    def remove(self, connection: str) -> BusPeer | None:
        """Remove a disconnected peer."""
        self.changed()
        return self._peers.pop(connection, None)

    def changed(self) -> None:
        """Clear the caches after `hello` or a changed subscription."""
        self._subscribers.clear()
        self._handlers.clear()
        self._legacy = None

    def subscribers(self, type_: str) -> tuple[str, ...]:
        """Connections subscribed to announcements of this type."""
        found = self._subscribers.get(type_)
        if found is None:
            found = tuple(each.id for each in self if type_ in each.subscribes)
            self._subscribers[type_] = found
        return found

    def meant(self, to: Address) -> tuple[str, ...]:
        """Peers of version 2 that an address matches."""
        if to.connection is not None:
            named = self._peers.get(to.connection)
            if named is None or named.hello is None:
                return ()
            is_all = to.role is None and to.taskspace is None
            return named.only if is_all or named.is_meant(to) else ()
        return tuple(each.id for each in self if each.hello is not None and each.is_meant(to))

    def handlers(self, type_: str) -> tuple[BusPeer, ...]:
        """Peers that handle requests of this type, in the order of connection."""
        found = self._handlers.get(type_)
        if found is None:
            found = tuple(each for each in self if each.handles(type_))
            self._handlers[type_] = found
        return found

    def legacy(self) -> tuple[str, ...]:
        """Peers of version 1."""
        if self._legacy is None:
            self._legacy = tuple(each.id for each in self if each.is_legacy)
        return self._legacy

    def directory(self, path: str) -> Parts | None:
        """Canonical components of a path, for routing."""
        return self._canonical(path)

    def windows(self, peers: Iterable[BusPeer], now: float) -> list[Window]:
        """Windows of these peers; those that are silent only if all are."""
        found: list[Window] = []
        for each in peers:
            where = each.presence
            if where is None and each.shows is None:
                continue
            folders = tuple(
                parts
                for folder in (() if where is None else where.workspace_folders)
                if (parts := self._canonical(folder)) is not None
            )
            focused = -1.0 if each.is_silent(now) else each.focused
            terminals = frozenset(() if where is None else where.terminals)
            found.append(Window(each.id, folders, terminals, each.taskspace, focused))
        return found


def plain_parts(path: str) -> Parts | None:
    """Components of a path without file access, for tests and paths of other machines."""
    if not path.startswith("/"):
        return None
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return tuple(parts)


def assign(
    about: MessageSpec, envelope: Envelope, asker: BusPeer, peers: Peers, now: float
) -> BusPeer | None:
    """The peer of version 2 that handles a request; None if no peer handles it.

    It is the addressed peer if it handles the type. Otherwise a window request goes to the window
    chosen by `routing`, else to the daemon; a request for an MCP server goes to the one in the
    sender's taskspace; any other goes to the daemon, else to the first connected handler.
    """
    able = [each for each in peers.handlers(about.type) if each is not asker]
    if envelope.to is not UNSET:
        able = [each for each in able if each.is_meant(envelope.to)]
    if len(able) <= 1 and envelope.to is not UNSET:
        return able[0] if able else None
    daemon = next((each for each in able if each.role is Role.DAEMON), None)
    match about.target:
        case MessageTarget.WINDOW:
            return _window(envelope, able, peers, now) or daemon
        case MessageTarget.MCP_SERVER:
            here = [each for each in able if is_same_taskspace(each.taskspace, asker.taskspace)]
            return (here or able or [None])[-1]
        case _:
            return daemon or next(iter(able), None)


def _window(envelope: Envelope, able: list[BusPeer], peers: Peers, now: float) -> BusPeer | None:
    sender = envelope.sender
    directory = peers.directory(sender.working_directory)
    place = MessageOrigin(directory, sender.taskspace_uuid, sender.shell_pid)
    found = window_for(place, peers.windows(able, now))
    return None if found is None else peers.get(found.connection)
