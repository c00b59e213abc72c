"""Everyone who is connected to the bus, and the answers to "who?" that a busy broker asks often."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from symposium.bus.envelope import Address, Sender, stamp
from symposium.bus.messages.broker import Hello, Presence, Present, WindowKind
from symposium.bus.protocol import Role, sendable_by
from symposium.bus.routing import Parts, Window, is_same_taskspace

EVERYTHING: Final = "*"
"""What to subscribe to, to see the traffic."""

FRESH: Final = 90.0
"""Seconds after its last heartbeat in which a window is believed to be alive: three of them."""

Canonical = Callable[[str], Parts | None]
"""Makes a path canonical; None for what is no absolute path."""


class SocketKind(Enum):
    """The socket of a peer, which determines its protocol."""

    BUS = "bus"
    COMPAT = "compat"


@dataclass(slots=True)
class BusPeer:
    """One connection.

    Attributes:
        id: the broker's name for it, stamped on what it sends.
        door: where it came in.
        since: when, in seconds since the epoch.
        name: what it calls itself, for people.
        hello: what it has said of itself; None for a peer of version 1, and for who has not yet.
        subscribes: the announcements it hears.
        presence: where it is, if it has said so.
        shows: the taskspace that its window was registered for.
        window_title: that window's title.
        seen: when it last said so.
        focused: when it last said that its user looks at something else.
        sender: the last sender it wrote.
        role: what it may do.
        is_legacy: whether it speaks version 1.
        may: the message types that it may send.
        has_forged: whether it has answered a request to another peer.
        only: its name alone, as the hearers of a message.
        stamp: how a line begins that it has sent.
    """

    id: str
    door: SocketKind
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
    may: frozenset[str] = frozenset()
    has_forged: bool = False
    only: tuple[str] = field(init=False)
    stamp: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.only = (self.id,)
        self.stamp = stamp(self.id)
        self.is_legacy = self.door is SocketKind.COMPAT

    def accept_hello(self, hello: Hello) -> None:
        """It has said hello, and may do what its role may."""
        self.hello, self.name, self.role = hello, hello.name, hello.role
        self.is_legacy = False
        self.may = sendable_by(hello.role)
        self.subscribes = hello.subscribes

    @property
    def taskspace(self) -> str | None:
        """The taskspace of the peer."""
        if self.presence is not None and self.presence.taskspace_uuid:
            return self.presence.taskspace_uuid
        if self.shows is not None:
            return self.shows
        return None if self.sender is None else self.sender.taskspace_uuid

    def is_silent(self, now: float) -> bool:
        """Whether its heartbeats have stopped; a peer that sends none is never silent."""
        return self.presence is not None and now - self.seen > FRESH

    def handles(self, type_: str) -> bool:
        """Whether it has said that it answers this type."""
        return self.hello is not None and type_ in self.hello.handles

    def is_meant(self, to: Address) -> bool:
        """Whether an address fits it."""
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
    """The table of peers; its answers are cached until a peer comes, goes, or changes."""

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
        """The peer of that name."""
        return self._peers.get(connection)

    def add(self, peer: BusPeer) -> None:
        """A peer has come."""
        self._peers[peer.id] = peer
        self.changed()

    def remove(self, connection: str) -> BusPeer | None:
        """A peer has gone."""
        self.changed()
        return self._peers.pop(connection, None)

    def changed(self) -> None:
        """Record a peer that has said hello or changed its subscriptions."""
        self._subscribers.clear()
        self._handlers.clear()
        self._legacy = None

    def subscribers(self, type_: str) -> tuple[str, ...]:
        """Connections that receive announcements of this type."""
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
        """Peers that answer requests of this type, in the order of connection."""
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
        """A path as the rules of routing compare it."""
        return self._canonical(path)

    def windows(self, peers: Iterable[BusPeer], now: float) -> list[Window]:
        """The windows of these peers; one that is silent loses against any that is not."""
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
    """A path's components by its text alone, for tests and for what is no path of this machine."""
    if not path.startswith("/"):
        return None
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return tuple(parts)
