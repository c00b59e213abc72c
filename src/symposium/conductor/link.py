"""One component's connection as the conductor holds it: who waits for its answers, and for whom it waits.

What arrives is read by `intake`; here is what is written, in order and with a bound, and what becomes of it all when
the connection ends.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

from peerwire.acp.names import CANONICAL, Dialect
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.errors import RpcError
from peerwire.transports.transport import Transport
from symposium.conductor.call import Call
from symposium.conductor.chain import Way
from symposium.conductor.component import Answer

BACK_PRESSURE: Final = 16 * 1024 * 1024
"""Bytes waiting for a component before whoever writes to it from the client's side is made to wait.

Far above the mark for the stream towards the client: requests and answers must not wait for each other (R4).
"""

OVERFLOW: Final = 128 * 1024 * 1024
"""Bytes waiting for a peer that does not read before the connection counts as lost: two of the longest lines."""


class PeerState(Enum):
    """Where a connection stands in its life (acp-host §1.10)."""

    SPAWNING = "spawning"
    INITIALIZING = "initializing"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"
    CLOSED = "closed"


class Waiter(Protocol):
    """What waits for a response of this link's peer: a call, or the handshake."""

    def settle(self, answer: Answer) -> None:
        """Take the response."""
        ...


class LinkOwner(Protocol):
    """Who is told that a link has ended or cannot go on."""

    def link_ended(self, link: "Link", error: Exception | None) -> None:
        """The peer has written its last line."""
        ...

    def link_overflowed(self, link: "Link") -> None:
        """The peer has stopped reading, and too much waits for it."""
        ...


class Link:
    """One peer over one transport, and the ways that its messages take.

    Attributes:
        plain: where its plain messages go: towards the agent for the client, towards the client for all others.
        wrapped: where the messages in its envelopes go; None for a peer that has no successor.
        feeders: links whose stream towards the client ends here; they wait while this peer is slow.
        writers: links whose messages towards the agent end here; they wait when very much waits for this peer.
    """

    plain: Way
    wrapped: Way | None = None

    def __init__(self, name: str, transport: Transport, owner: LinkOwner) -> None:
        self.name = name
        self.transport = transport
        self.state = PeerState.SPAWNING
        self.dialect: Dialect = CANONICAL
        self.greets_successor = False
        self.feeders: list[Link] = []
        self.writers: list[Link] = []
        self.asked: dict[bytes, Waiter] = {}
        self.serving: dict[bytes, Call] = {}
        self.is_slow = False
        self.failure: RpcError | None = None
        self.on_quiet: Callable[[], None] | None = None
        self._owner = owner
        self._last_id = 0
        self._holds: set[object] = set()
        self._waiting: list[bytes] | None = None

    # -- writing

    def send(self, line: bytes) -> None:
        """Write a line, or keep it in order until the peer has answered `initialize`."""
        if self._waiting is None:
            self.transport.send(line)
        else:
            self._waiting.append(line)

    def ask(self, waiter: Waiter) -> bytes:
        """A fresh id of this hop, under which `waiter` gets the response."""
        self._last_id += 1
        key = b"%d" % self._last_id
        self.asked[key] = waiter
        return key

    def keep_until_ready(self) -> None:
        """From now on keep what is sent, but for what the handshake itself writes."""
        self.state = PeerState.INITIALIZING
        self._waiting = []

    def release(self) -> None:
        """Write what was kept, in order."""
        waiting, self._waiting = self._waiting, None
        for line in waiting or ():
            self.transport.send(line)

    # -- marks

    def hold(self, reason: object) -> None:
        """Stop reading this peer; it reads on when every reason has gone."""
        if not self._holds:
            self.transport.pause_reading()
        self._holds.add(reason)

    def let_go(self, reason: object) -> None:
        """Undo `hold` for this reason."""
        if reason in self._holds:
            self._holds.discard(reason)
            if not self._holds:
                self.transport.resume_reading()

    def writing_paused(self) -> None:
        """The peer is slow: those who stream to it wait, and others once very much has piled up."""
        self.is_slow = True
        for feeder in self.feeders:
            feeder.hold(self)
        backlog = self.transport.backlog
        if backlog > BACK_PRESSURE:
            for writer in self.writers:
                # A writer that is itself full waits for what this peer writes: holding it would close a circle.
                if not writer.is_slow:
                    writer.hold(self)
        if backlog > OVERFLOW:
            self._owner.link_overflowed(self)

    def writing_resumed(self) -> None:
        """The peer has caught up."""
        self.is_slow = False
        for other in (*self.feeders, *self.writers):
            other.let_go(self)

    # -- answering

    def answered(self, call: Call, answer: Answer) -> None:
        """Write the answer to a request of this peer."""
        self.forget(call)
        self.transport.send(answer.line(call.request_id))

    def forget(self, call: Call) -> None:
        """The call is answered: its id may come again."""
        key = wire.id_key(call.request_id)
        if self.serving.get(key) is call:
            del self.serving[key]
        if not self.serving and self.on_quiet is not None:
            self.on_quiet()

    def ended(self, error: Exception | None) -> None:
        """The peer has written its last line."""
        self._owner.link_ended(self, error)


def fail_asked(link: Link, error: RpcError) -> None:
    """Answer everything that waits for this link's peer with an error (R7)."""
    asked, link.asked = link.asked, {}
    for waiter in asked.values():
        waiter.settle(Answer(error=error))


def fail_serving(link: Link, error: RpcError) -> None:
    """Answer everything that this link's peer still waits for with an error."""
    for call in list(link.serving.values()):
        call.fail(error)


def abandon(link: Link) -> None:
    """The peer is gone: what it asked of others is cancelled, and nobody is held back for it."""
    for call in list(link.serving.values()):
        call.cancel()
    link.serving.clear()
    link.is_slow = False
    for other in (*link.feeders, *link.writers):
        other.let_go(link)
