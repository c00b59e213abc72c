"""Requests to the broker itself, the message history, and peers of version 1."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from localio.redaction import Redactor
from symposium.bus import error_codes
from symposium.bus.envelope import (
    DAEMON_SENDER,
    NO_ID,
    Envelope,
    answer,
    envelope_of,
    refusal,
    stamped,
    version_one,
    write_envelope,
)
from symposium.bus.messages import broker as history_message
from symposium.bus.messages.broker import (
    PROTOCOL,
    CancelRequest,
    Goodbye,
    Hello,
    Log,
    Logged,
    Polo,
    Presence,
    PresenceChanged,
    Subscribe,
    TaskspaceRollCall,
    Welcome,
    Who,
)
from symposium.bus.peers import EVERYTHING, BusPeer, Peers
from symposium.bus.protocol import ASSIGNED_ROLES, BusMessage, PayloadError, Role, payload_of
from symposium.bus.refusals import refuse
from symposium.bus.routing import Action, Close, Deliver, OpenBusRequests, is_same_taskspace

MAX_MESSAGES: Final = 1024
"""Maximum number of messages in the history (bus §1.1)."""

MAX_STORED_LINE: Final = 16 * 1024
"""Maximum stored size of a line, in bytes; 16 MiB for the whole history."""


class HistoryEntry(NamedTuple):
    """One message in the history.

    Attributes:
        at: seconds since the epoch.
        connection: its sender.
        name: display name of the sender.
        is_legacy: whether it was relayed to every peer of version 1.
        size: length of the complete line, in bytes.
        line: the stored part of the line.
    """

    at: float
    connection: str
    name: str
    is_legacy: bool
    size: int
    line: bytes

    @property
    def type(self) -> str:
        """Message type; empty if it has none, or if the line is truncated."""
        try:
            return _read_type(self.line).type
        except (msgspec.DecodeError, RecursionError):
            return ""


_Entry: TypeAlias = tuple[float, str, str, bool, int, bytes]


class _Typed(Struct):
    type: str = ""


_read_type: Final = msgspec.json.Decoder(_Typed).decode


class BusHistory:
    """The last messages, at most `messages`; 0 disables it."""

    def __init__(self, redactor: Redactor | None = None, *, messages: int = MAX_MESSAGES) -> None:
        self._redactor = redactor or Redactor()
        self._entries: deque[_Entry] = deque(maxlen=messages)

    def __iter__(self) -> Iterator[HistoryEntry]:
        return (HistoryEntry(*each) for each in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, at: float, by: str, name: str, line: bytes, *, is_legacy: bool) -> None:
        """Add a message, truncated if long; drop the oldest if full."""
        size = len(line)
        if size > MAX_STORED_LINE:
            line = line[:MAX_STORED_LINE]
        # A plain tuple: this runs for every message, and a class takes five times longer.
        self._entries.append((at, by, name, is_legacy, size, line))

    def logged(self, passed: HistoryEntry) -> Logged:
        """A history entry with secrets removed."""
        line = passed.line
        if len(line) == passed.size:
            text = self._redactor.json(line).decode(errors="replace")
        else:
            text = self._redactor.text(line.decode(errors="replace"))
        return Logged(
            at=passed.at, by=passed.connection, name=passed.name, size=passed.size, line=text
        )


def passed_by(at: float, by: str, name: str, line: bytes, *, is_legacy: bool) -> HistoryEntry:
    """History entry of a message, truncated if long."""
    return HistoryEntry(at, by, name, is_legacy, len(line), line[:MAX_STORED_LINE])


WATCHERS: Final = frozenset({Role.APP, Role.CLI, Role.OBSERVER, Role.DAEMON})
"""Roles that may see all messages: those of users, not of agents (bus §7, rows 2 and 5)."""

MAX_NAME: Final = 200
"""Maximum length of a peer's name, in characters."""

_REMEMBERED: Final = 64
"""Number of closed connections whose reason is kept for their reconnect."""

_Answer: TypeAlias = Callable[[BusPeer, Envelope, float], list[Action]]
_encode = msgspec.json.Encoder().encode


class BrokerRequests:
    """Handle requests to the broker; change its routing tables."""

    def __init__(
        self, peers: Peers, history: BusHistory, open_: OpenBusRequests, boot: str
    ) -> None:
        self._peers = peers
        self._history = history
        self._open = open_
        self._boot = boot
        self._ends: dict[tuple[str, int | None], str] = {}
        self._answers: dict[str, _Answer] = {
            "subscribe": self._subscribe,
            "presence": self._presence,
            "who": self._who,
            "history": self._get_history,
            "cancel_request": self._cancel,
            "log": _check_log,
            "hello": _repeated_hello,
        }

    def take(self, peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
        """Handle a message for the broker.

        Raises:
            PayloadError: the payload is malformed.
        """
        return self._answers[envelope.type](peer, envelope, now)

    def hello(self, peer: BusPeer, envelope: Envelope) -> list[Action]:
        """Accept a peer of version 2, or send an error and close its connection."""
        try:
            said = Hello.read(envelope.payload)
            _check(said)
        except PayloadError as error:
            line = refusal(envelope.id, error_codes.BAD_HELLO, str(error))
            return [Deliver((peer.id,), line), Close(peer.id, str(error)[:MAX_NAME])]
        peer.accept_hello(said)
        peer.sender = envelope.sender
        self._peers.changed()
        previous = self._ends.pop((said.name, said.pid), None)
        welcome = Welcome(connection=peer.id, boot=self._boot, previous_end=previous)
        answer = _answer(peer, envelope, payload_of(welcome))
        # A restarted daemon has no windows, so listeners must register them again.
        wanted = TaskspaceRollCall.about.type in said.subscribes
        calls = [Deliver(peer.only, _line(TaskspaceRollCall()))] if wanted else []
        return [answer, *self.changed(peer, "came"), *self._for_server(peer, Polo()), *calls]

    def changed(self, peer: BusPeer, change: str) -> list[Action]:
        """Announce to subscribers that a peer connected, moved, or disconnected."""
        subscribers = self._peers.subscribers("presence_changed")
        hearers = tuple(each for each in subscribers if each != peer.id)
        if not hearers or peer.role in ASSIGNED_ROLES:
            return []
        news = msgspec.convert({"change": change, "peer": peer.present()}, PresenceChanged)
        return [Deliver(hearers, _line(news))]

    def register_window(self, connection: str, taskspace: str, title: str) -> list[Action]:
        """Store the taskspace of a peer's window; requests from there go to it first."""
        peer = self._peers.get(connection)
        if peer is None:
            return []
        peer.shows, peer.window_title = taskspace, title
        return self.changed(peer, "moved")

    def left(self, peer: BusPeer) -> list[Action]:
        """Announce a removed peer."""
        return [*self.changed(peer, "gone"), *self._for_server(peer, Goodbye())]

    def remember_end(self, peer: BusPeer, reason: str) -> None:
        """Store why a connection was closed, for the peer's reconnect."""
        pid = None if peer.hello is None else peer.hello.pid
        self._ends[peer.name, pid] = reason
        if len(self._ends) > _REMEMBERED:
            del self._ends[next(iter(self._ends))]

    def polos(self, to: tuple[str, ...]) -> list[Action]:
        """Answers to `marco` from version 1, on behalf of MCP servers of version 2."""
        lines = [
            version_one(envelope_of(Polo(), each.sender))
            for each in self._peers
            if each.role is Role.MCP_SERVER and each.sender is not None
        ]
        return [Deliver(to, line) for line in lines]

    def _for_server(self, peer: BusPeer, message: BusMessage) -> list[Action]:
        """Announce an MCP server's start or end, once to each subscriber."""
        if peer.role is not Role.MCP_SERVER or peer.sender is None:
            return []
        envelope = envelope_of(message, peer.sender)
        subscribers = self._peers.subscribers(message.about.type)
        hearers = tuple(each for each in subscribers if each != peer.id)
        actions: list[Action] = []
        if hearers:
            line = stamped(write_envelope(envelope), envelope, peer.stamp)
            actions.append(Deliver(hearers, line))
        if legacy := self._peers.legacy():
            actions.append(Deliver(legacy, version_one(envelope)))
        return actions

    def _subscribe(self, peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
        del now
        wanted = Subscribe.read(envelope.payload).types
        if EVERYTHING in wanted and peer.role not in WATCHERS:
            text = f"a peer of role {peer.role.value} may not watch all messages"
            return [refuse(peer, envelope.id, error_codes.FORBIDDEN, text)]
        peer.subscribes = wanted
        self._peers.changed()
        return [_answer(peer, envelope, Raw(b"{}"))]

    def _presence(self, peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
        where = Presence.read(envelope.payload)
        before, peer.presence, peer.seen = peer.presence, where, now
        if before is None or before.focus_uri != where.focus_uri:
            peer.focused = now
        answer = _answer(peer, envelope, Raw(b"{}"))
        return [answer] if before == where else [answer, *self.changed(peer, "moved")]

    def _who(self, peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
        del now
        wanted = Who.read(envelope.payload)
        found = [each.present() for each in self._peers if each.role not in ASSIGNED_ROLES]
        shown = [
            each
            for each in found
            if wanted.role in {None, each.role}
            and wanted.kind in {None, each.kind}
            and (
                wanted.taskspace_uuid is None
                or is_same_taskspace(each.taskspace_uuid, wanted.taskspace_uuid)
            )
        ]
        return [_answer(peer, envelope, Raw(_encode(shown)))]

    def _get_history(self, peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
        del now
        asked = history_message.History.read(envelope.payload)
        return [_answer(peer, envelope, Raw(_encode(self.remembered(asked))))]

    def remembered(self, asked: history_message.History) -> list[Logged]:
        """History entries that match a request, with secrets removed."""
        found = [
            each
            for each in self._history
            if (not asked.types or each.type in asked.types)
            and asked.connection in {None, each.connection}
            and (
                asked.taskspace_uuid is None
                or asked.taskspace_uuid.lower().encode() in each.line.lower()
            )
        ]
        return [self._history.logged(each) for each in found[-asked.last :]]

    def _cancel(self, peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
        del now
        request = self._open.get(CancelRequest.read(envelope.payload).request_id)
        if request is None:
            return []
        if request.asker != peer.id:
            text = "only the sender of a request can cancel it"
            line = refusal(NO_ID, error_codes.FORBIDDEN, text)
            return [Deliver(peer.only, line)]
        self._open.close(request)
        text = "canceled by the sender"
        line = refusal(request.id, error_codes.CANCELLED, text)
        return [Deliver((peer.id,), line), *cancelled(request.id, request.answerers, self._peers)]


def cancelled(request_id: str, answerers: Iterable[str], peers: Peers) -> list[Action]:
    """Notify the handlers that the sender stopped waiting."""
    found = [peers.get(each) for each in answerers]
    able = tuple(each.id for each in found if each is not None and not each.is_legacy)
    return [Deliver(able, _line(CancelRequest(request_id=request_id)))] if able else []


def _check(said: Hello) -> None:
    if said.protocol != PROTOCOL:
        text = f"this bus uses protocol {PROTOCOL}, not {said.protocol}; update the older side"
        raise PayloadError(text)
    if len(said.name) > MAX_NAME:
        text = f"the name has {len(said.name)} characters; at most {MAX_NAME} are allowed"
        raise PayloadError(text)
    if said.role in ASSIGNED_ROLES:
        raise PayloadError(f"no peer may connect as {said.role.value}")
    if EVERYTHING in said.subscribes and said.role not in WATCHERS:
        raise PayloadError(f"a peer of role {said.role.value} may not watch all messages")


def _check_log(peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
    """Check a `log` message; it stays in the history and is never relayed, which could loop.

    Raises:
        PayloadError: its level is unknown, or its message is missing.
    """
    del now
    Log.read(envelope.payload)
    return [_answer(peer, envelope, Raw(b'{"delivered":0}'))] if envelope.ack is True else []


def _repeated_hello(peer: BusPeer, envelope: Envelope, now: float) -> list[Action]:
    del now
    text = "this connection already sent hello"
    line = refusal(envelope.id, error_codes.BAD_HELLO, text)
    return [Deliver(peer.only, line), Close(peer.id, text)]


def _line(message: BusMessage) -> bytes:
    return write_envelope(envelope_of(message, DAEMON_SENDER))


def _answer(peer: BusPeer, envelope: Envelope, data: Raw) -> Deliver:
    return Deliver((peer.id,), answer(envelope, data))


IDENTIFY: Final = b"#identify:"
DUMP: Final = b"#debug_dump_messages"


class LegacyPeers:
    """Peers of version 1: relay each line to all of them, and handle control lines."""

    def __init__(self, peers: Peers, history: BusHistory) -> None:
        self._peers = peers
        self._history = history

    def relay(self, text: bytes) -> list[Action]:
        """Relay an unchanged line to every peer of version 1, including its sender."""
        return [Deliver(self._peers.legacy(), text)]

    def control(self, peer: BusPeer, text: bytes) -> list[Action]:
        """Handle a control line; unknown ones are ignored (bus §1.3)."""
        if text.startswith(IDENTIFY):
            peer.name = text.removeprefix(IDENTIFY).decode(errors="replace")
        elif text == DUMP:
            return [Deliver((peer.id,), self._dump())]
        return []

    def _dump(self) -> bytes:
        # Only relayed lines: peers of version 1 may not read addressed messages of version 2.
        ours = [each for each in self._history if each.is_legacy]
        shown = [(each, self._history.logged(each)) for each in ours]
        entries = [
            {
                "timestamp": int(passed.at * 1000),
                "from_identifier": logged.name,
                "content": logged.line,
            }
            for passed, logged in shown
        ]
        return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
