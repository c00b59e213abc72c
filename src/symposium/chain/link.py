"""Connection of one component, with back-pressure.

`intake` handles the input. This module handles the output, in order and with a limit, and the end
of the connection.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Protocol

from peerwire.acp.names import CANONICAL, Dialect
from peerwire.errors import RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.transport import LARGE, OversizedLine, PiecewiseTransport, Transport
from symposium.chain.calls import ModCall
from symposium.chain.messages import Answer, answer_pieces
from symposium.chain.monitoring import Passing
from symposium.chain.routing import Route


class LineBuffer:
    """Output buffer that can hold lines back.

    Attributes:
        size: number of buffered bytes.
        write: takes the next line and either holds or writes it.
    """

    def __init__(self, send: Callable[[bytes], None], on_growth: Callable[[], None]) -> None:
        self.size = 0
        self.write = send
        self._send = send
        self._on_growth = on_growth
        self._lines: list[bytes] = []

    def keep(self) -> None:
        """Hold all lines from now on."""
        self.write = self._keep

    def release(self) -> None:
        """Write the held lines in order; write later ones directly."""
        lines, self._lines = self._lines, []
        self.size = 0
        self.write = self._send
        for line in lines:
            self._send(line)

    def drop(self) -> None:
        """Discard the held lines; the peer is disconnected."""
        self._lines.clear()
        self.release()

    def _keep(self, line: bytes) -> None:
        self._lines.append(line)
        self.size += len(line) + 1
        self._on_growth()


BACK_PRESSURE: Final = 16 * 1024 * 1024
"""Bytes waiting for a component before writers on the client's side must wait.

Far above the limit for the stream toward the client: requests and answers must not wait for each
other (R4).
"""

MAX_OPEN: Final = 10_000
"""Maximum number of open requests of one peer, as in `Connection`."""

OVERFLOW: Final = 128 * 1024 * 1024
"""Bytes waiting for a peer before it counts as disconnected: two of the longest lines."""


class PeerState(Enum):
    """States of a connection (acp-host §1.10)."""

    SPAWNING = "spawning"
    INITIALIZING = "initializing"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"
    CLOSED = "closed"


class Waiter(Protocol):
    """Waiter for a response of this peer: a call or the handshake."""

    @property
    def request_id(self) -> bytes:
        """JSON text of the request's id on its original connection."""
        ...

    def settle(self, answer: Answer) -> None:
        """Handle the peer's response to the request."""
        ...


class Handshake(Protocol):
    """Handshake with this peer."""

    def wait_for(self, call: ModCall) -> None:
        """Stop the timer: the peer waits for its successor's `initialize`."""
        ...

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Restart the timer: a request of the peer was answered."""
        ...


class LinkOwner(Protocol):
    """Owner of a link; notified when it ends or cannot continue."""

    def link_ended(self, link: "Link", error: Exception | None) -> None:
        """Handle the end of the peer's output."""
        ...

    def link_overflowed(self, link: "Link") -> None:
        """Handle a peer that does not read."""
        ...


class Pressure:
    """Reason for holding a writer: its reader has a long backlog. One per link."""


class Link:
    """One peer on one transport, and the routes of its messages.

    Attributes:
        plain: route of its plain messages: toward the agent for the client, else toward the client.
        wrapped: route of its enveloped messages; None for a peer without a successor.
        feeders: links whose stream toward the client ends here; they wait while this peer is slow.
        writers: links whose messages toward the agent end here; they wait while this peer's backlog
            is long.
        asked: waiters for the peer's responses, by id.
        serving: the peer's open requests by id.
        open: all open requests; an id may repeat.
        failure: error for every request to the peer after its end.
        from_predecessor: lines to it from the client's side, without answers.
        from_successor: lines to it from the agent's side, without answers.
        passing: measures a mod by its requests; None for the client and the agent.
        on_lines: receives each batch of lines before it is routed.
    """

    plain: Route
    wrapped: Route | None = None

    def __init__(self, name: str, transport: Transport, owner: LinkOwner) -> None:
        self.name = name
        self.transport = transport
        self.state = PeerState.SPAWNING
        self.dialect: Dialect = CANONICAL
        self.feeders: list[Link] = []
        self.writers: list[Link] = []
        self.asked: dict[bytes, Waiter] = {}
        self.serving: dict[bytes, ModCall] = {}
        self.open: dict[ModCall, int] = {}
        self.open_size = 0
        self.is_slow = False
        self.failure: RpcError | None = None
        self.handshake: Handshake | None = None
        self.on_quiet: Callable[[], None] | None = None
        self.last_id = 0
        self.passing: Passing | None = None
        self.on_lines: Callable[[Sequence[bytes | OversizedLine]], None] | None = None
        self.from_predecessor = LineBuffer(transport.send, self._check_backlog)
        self.from_successor = LineBuffer(transport.send, self._check_backlog)
        self._owner = owner
        self._holds: set[object] = set()
        self._pressure = Pressure()

    @property
    def backlog(self) -> int:
        """Bytes that wait for the peer, here and in its transport."""
        return self.transport.backlog + self.from_predecessor.size + self.from_successor.size

    def ask(self, waiter: Waiter) -> bytes:
        """New id on this connection; its response goes to `waiter`."""
        self.last_id += 1
        key = b"%d" % self.last_id
        self.asked[key] = waiter
        return key

    def hold(self, reason: object) -> None:
        """Stop reading this peer until every reason is removed."""
        if not self._holds:
            self.transport.pause_reading()
        self._holds.add(reason)

    def release(self, reason: object) -> None:
        """Remove a reason of `hold`."""
        if reason in self._holds:
            self._holds.discard(reason)
            if not self._holds:
                self.transport.resume_reading()

    def writing_paused(self) -> None:
        """Handle a slow peer: hold its feeders, and its writers if the backlog is long."""
        self.is_slow = True
        for feeder in self.feeders:
            feeder.hold(self)
        # A held writer that is full itself may wait for its reader's output; avoid the cycle.
        for reason in [one for one in self._holds if isinstance(one, Pressure)]:
            self.release(reason)
        self._check_backlog()

    def _check_backlog(self) -> None:
        backlog = self.backlog
        if backlog > BACK_PRESSURE:
            for writer in self.writers:
                if not writer.is_slow:
                    writer.hold(self._pressure)
        if backlog > OVERFLOW:
            self._owner.link_overflowed(self)

    def writing_resumed(self) -> None:
        """Release the feeders and writers: the peer has caught up."""
        self.is_slow = False
        for feeder in self.feeders:
            feeder.release(self)
        for writer in self.writers:
            writer.release(self._pressure)

    def serve(self, call: ModCall) -> None:
        """Register a request of this peer."""
        self.serving[wire.id_key(call.request_id)] = call
        self.open[call] = size = call.message.size
        self.open_size += size

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Write the answer to a request of this peer."""
        self.forget(call, answer)
        if answer.size > LARGE and isinstance(self.transport, PiecewiseTransport):
            self.transport.send_pieces(answer_pieces(answer, call.request_id))
        else:
            self.transport.send(answer.line(call.request_id))

    def forget(self, call: ModCall, answer: Answer) -> None:
        """Unregister an answered request; its id may be used again."""
        self.open_size -= self.open.pop(call, 0)
        key = wire.id_key(call.request_id)
        if self.serving.get(key) is call:
            del self.serving[key]
        if self.handshake is not None:
            self.handshake.on_answer(call, answer)
        if not self.open and self.on_quiet is not None:
            self.on_quiet()

    def ended(self, error: Exception | None) -> None:
        """Handle the end of the peer's output."""
        self._owner.link_ended(self, error)


def keep_until_initialized(link: Link) -> None:
    """Hold output until the handshake ends, except answers and the handshake itself."""
    link.from_predecessor.keep()
    link.from_successor.keep()


def begin_handshake(link: Link, handshake: Handshake) -> None:
    """Start the handshake with the peer."""
    link.state = PeerState.INITIALIZING
    link.handshake = handshake


def initializes_successor(link: Link, call: ModCall) -> None:
    """Note that the peer initializes its successor, so it can receive that one's messages."""
    if link.handshake is not None:
        link.handshake.wait_for(call)
        link.from_successor.release()


def end_handshake(link: Link, failure: RpcError | None) -> None:
    """End the handshake; on failure, discard the held output."""
    link.handshake = None
    if failure is None:
        link.state = PeerState.READY
        link.from_predecessor.release()
        link.from_successor.release()
    else:
        fail(link, failure)
    if not link.is_slow:
        link.writing_resumed()


def fail(link: Link, error: RpcError) -> None:
    """Fail all pending and future requests to the peer with this error."""
    if link.state not in {PeerState.DRAINING, PeerState.CLOSED}:
        link.state = PeerState.FAILED
    link.failure = link.failure or error
    link.from_predecessor.drop()
    link.from_successor.drop()
    fail_asked(link, error)


def fail_asked(link: Link, error: RpcError) -> None:
    """Answer all requests that wait for this peer with an error (R7)."""
    asked, link.asked = link.asked, {}
    for waiter in asked.values():
        waiter.settle(Answer(error=error))


def fail_serving(link: Link, error: RpcError) -> None:
    """Answer all open requests of this peer with an error."""
    for call in list(link.open):
        call.fail(error)


def cancel_serving(link: Link) -> None:
    """Cancel all open requests of this peer: it does not wait anymore (acp-host §1.8)."""
    for call in list(link.open):
        call.cancel()


def abandon(link: Link) -> None:
    """Clean up after a disconnected peer: cancel its requests and release writers."""
    cancel_serving(link)
    link.open.clear()
    link.open_size = 0
    link.serving.clear()
    link.writing_resumed()
